"""Every call of AWS that a served cluster answers, by boto3: what is refused is refused with AWS's code."""

import base64
import json
import os
import time

import boto3
import botocore
from botocore.config import Config


def run(check):
    """Makes every call; `check(name, right, why)` counts."""
    cfg = Config(retries={"max_attempts": 1})

    def c(service):
        return boto3.client(service, config=cfg)

    asg, ec2, eks, sqs, ev, ssm, sts, elb = map(c, "autoscaling ec2 eks sqs events ssm sts elbv2".split())

    def t(name, call, want=None):
        try:
            answer = call()
        except botocore.exceptions.ClientError as error:
            code = error.response["Error"]["Code"]
            check(f"{name}: {want or 'answered'}", code == want, str(error))
            return None
        check(f"{name}: {want or 'answered'}", want is None, "it was answered")
        return answer

    subnets = [s['SubnetId'] for s in ec2.describe_subnets()['Subnets']]
    cl = t('list_clusters', lambda: eks.list_clusters())['clusters'][0]
    r = t('describe_cluster', lambda: eks.describe_cluster(name=cl))
    t('describe_cluster absent', lambda: eks.describe_cluster(name='x'), 'ResourceNotFoundException')
    t('list ng', lambda: eks.list_nodegroups(clusterName=cl))
    r = t('create ng', lambda: eks.create_nodegroup(clusterName=cl, nodegroupName='ng1', scalingConfig=dict(minSize=1,maxSize=4,desiredSize=2), subnets=subnets, nodeRole='arn:aws:iam::111122223333:role/node', instanceTypes=['m6i.large'], labels={'a':'b'}, taints=[dict(key='k',value='v',effect='NO_SCHEDULE')], version='1.35', updateConfig=dict(maxUnavailable=2), tags={'x':'y'}, clientRequestToken='tok-1'))
    r2 = t('create ng again, same token', lambda: eks.create_nodegroup(clusterName=cl, nodegroupName='ng1', scalingConfig=dict(minSize=1,maxSize=4,desiredSize=2), subnets=subnets, nodeRole='arn:aws:iam::111122223333:role/node', instanceTypes=['m6i.large'], labels={'a':'b'}, taints=[dict(key='k',value='v',effect='NO_SCHEDULE')], version='1.35', updateConfig=dict(maxUnavailable=2), tags={'x':'y'}, clientRequestToken='tok-1'))
    t('create ng twice', lambda: eks.create_nodegroup(clusterName=cl, nodegroupName='ng1', subnets=subnets, nodeRole='r'), 'ResourceInUseException')
    t('create ng bad label', lambda: eks.create_nodegroup(clusterName=cl, nodegroupName='ng2', subnets=subnets, nodeRole='r', labels={'kubernetes.io/x':'y'}), 'InvalidParameterException')
    t('describe ng absent', lambda: eks.describe_nodegroup(clusterName=cl, nodegroupName='nope'), 'ResourceNotFoundException')
    for i in range(60):
        n = eks.describe_nodegroup(clusterName=cl, nodegroupName='ng1')['nodegroup']
        if n['status'] != 'CREATING': break
        time.sleep(0.5)
    waiter = eks.get_waiter('nodegroup_active')
    t('waiter', lambda: waiter.wait(clusterName=cl, nodegroupName='ng1'))
    t('config bad', lambda: eks.update_nodegroup_config(clusterName=cl, nodegroupName='ng1', scalingConfig=dict(minSize=6,maxSize=5,desiredSize=2)), 'InvalidParameterException')
    u = t('config', lambda: eks.update_nodegroup_config(clusterName=cl, nodegroupName='ng1', scalingConfig=dict(minSize=1,maxSize=5,desiredSize=2), labels=dict(addOrUpdateLabels={'c':'d'})))
    t('describe update', lambda: eks.describe_update(name=cl, nodegroupName='ng1', updateId=u['update']['id']))
    for i in range(80):
        s = eks.describe_update(name=cl, nodegroupName='ng1', updateId=u['update']['id'])['update']['status']
        if s != 'InProgress': break
        time.sleep(0.5)
    t('version too new', lambda: eks.update_nodegroup_version(clusterName=cl, nodegroupName='ng1', version='1.37'), 'InvalidParameterException')
    t('release wrong', lambda: eks.update_nodegroup_version(clusterName=cl, nodegroupName='ng1', version='1.36', releaseVersion='1.31.3-20250103'), 'InvalidParameterException')
    u = t('version', lambda: eks.update_nodegroup_version(clusterName=cl, nodegroupName='ng1', version='1.36'))
    t('version while', lambda: eks.update_nodegroup_version(clusterName=cl, nodegroupName='ng1', version='1.36'), 'ResourceInUseException')
    t('list updates', lambda: eks.list_updates(name=cl, nodegroupName='ng1'))
    a = t('addon versions', lambda: eks.describe_addon_versions(addonName='coredns', kubernetesVersion='1.36'))
    v = [x['addonVersion'] for x in a['addons'][0]['addonVersions']]
    t('create addon', lambda: eks.create_addon(clusterName=cl, addonName='coredns', addonVersion=v[-1]))
    t('describe addon', lambda: eks.describe_addon(clusterName=cl, addonName='coredns'))
    t('update addon early', lambda: eks.update_addon(clusterName=cl, addonName='coredns', addonVersion=v[0], resolveConflicts='PRESERVE'), 'ResourceInUseException')
    t('list addons', lambda: eks.list_addons(clusterName=cl))
    t('cluster versions', lambda: eks.describe_cluster_versions())
    i = t('insights', lambda: eks.list_insights(clusterName=cl))
    t('insight', lambda: eks.describe_insight(clusterName=cl, id=i['insights'][0]['id']))
    t('cluster update too far', lambda: eks.update_cluster_version(name=cl, version='1.38'), 'InvalidParameterException')
    arn = n['nodegroupArn']
    t('tag', lambda: eks.tag_resource(resourceArn=arn, tags={'q':'1'}))
    t('untag', lambda: eks.untag_resource(resourceArn=arn, tagKeys=['q','z']))
    t('list tags', lambda: eks.list_tags_for_resource(resourceArn=arn))
    # ec2
    lt = t('create lt', lambda: ec2.create_launch_template(LaunchTemplateName='lt1', LaunchTemplateData=dict(InstanceType='m6i.large', SecurityGroupIds=['sg-1'], BlockDeviceMappings=[dict(DeviceName='/dev/xvda', Ebs=dict(VolumeSize=30, VolumeType='gp3'))], MetadataOptions=dict(HttpTokens='required'), TagSpecifications=[dict(ResourceType='instance', Tags=[dict(Key='a',Value='b')])])))
    t('create lt twice', lambda: ec2.create_launch_template(LaunchTemplateName='lt1', LaunchTemplateData=dict(InstanceType='m6i.large')), 'InvalidLaunchTemplateName.AlreadyExistsException')
    img = ssm.get_parameter(Name='/aws/service/eks/optimized-ami/1.36/amazon-linux-2023/x86_64/standard/recommended/image_id')['Parameter']['Value']
    t('create ltv', lambda: ec2.create_launch_template_version(LaunchTemplateName='lt1', SourceVersion='1', LaunchTemplateData=dict(ImageId=img), ClientToken='abc'))
    t('create ltv again', lambda: ec2.create_launch_template_version(LaunchTemplateName='lt1', SourceVersion='1', LaunchTemplateData=dict(ImageId=img), ClientToken='abc'))
    r = t('describe ltv', lambda: ec2.describe_launch_template_versions(LaunchTemplateName='lt1'))
    t('describe lt', lambda: ec2.describe_launch_templates())
    t('modify lt', lambda: ec2.modify_launch_template(LaunchTemplateName='lt1', DefaultVersion='2'))
    t('describe lt absent', lambda: ec2.describe_launch_templates(LaunchTemplateNames=['none']), 'InvalidLaunchTemplateName.NotFoundException')
    r = t('instances', lambda: ec2.describe_instances()); ids = [x['InstanceId'] for q in r['Reservations'] for x in q['Instances']]
    pages = list(ec2.get_paginator('describe_instances').paginate(PaginationConfig=dict(PageSize=5)))
    t('instances filter', lambda: ec2.describe_instances(Filters=[dict(Name='instance-state-name',Values=['running']), dict(Name='tag:eks:nodegroup-name',Values=['ng*'])]))
    t('instances absent', lambda: ec2.describe_instances(InstanceIds=['i-0123456789abcdef0']), 'InvalidInstanceID.NotFound')
    t('status', lambda: ec2.describe_instance_status(InstanceIds=ids[:1]))
    t('types', lambda: ec2.describe_instance_types(InstanceTypes=['m6i.large']))
    t('images', lambda: ec2.describe_images(ImageIds=[img]))
    t('reqs', lambda: ec2.get_instance_types_from_instance_requirements(ArchitectureTypes=['x86_64'], VirtualizationTypes=['hvm'], InstanceRequirements=dict(VCpuCount=dict(Min=2,Max=4), MemoryMiB=dict(Min=8000))))
    t('azs', lambda: ec2.describe_availability_zones())
    t('regions', lambda: ec2.describe_regions())
    t('dry', lambda: ec2.terminate_instances(InstanceIds=ids[:1], DryRun=True), 'DryRunOperation')
    t('unknown', lambda: ec2.describe_volumes(), 'InvalidAction')
    # asg
    t('create asg', lambda: asg.create_auto_scaling_group(AutoScalingGroupName='a1', MinSize=1, MaxSize=3, DesiredCapacity=2, VPCZoneIdentifier=','.join(subnets), LaunchTemplate=dict(LaunchTemplateName='lt1', Version='$Latest'), Tags=[dict(Key='k',Value='v',PropagateAtLaunch=True)]))
    t('create asg twice', lambda: asg.create_auto_scaling_group(AutoScalingGroupName='a1', MinSize=1, MaxSize=3, VPCZoneIdentifier=subnets[0], LaunchTemplate=dict(LaunchTemplateName='lt1')), 'AlreadyExists')
    t('create mixed', lambda: asg.create_auto_scaling_group(AutoScalingGroupName='m1', MinSize=0, MaxSize=3, DesiredCapacity=1, VPCZoneIdentifier=','.join(subnets), MixedInstancesPolicy=dict(LaunchTemplate=dict(LaunchTemplateSpecification=dict(LaunchTemplateName='lt1',Version='$Default'), Overrides=[dict(InstanceType='m5.large'),dict(InstanceType='m6i.large')]), InstancesDistribution=dict(OnDemandBaseCapacity=0, OnDemandPercentageAboveBaseCapacity=0))))
    t('set desired high', lambda: asg.set_desired_capacity(AutoScalingGroupName='a1', DesiredCapacity=9), 'ValidationError')
    t('update min>max', lambda: asg.update_auto_scaling_group(AutoScalingGroupName='a1', MinSize=9), 'ValidationError')
    t('suspend', lambda: asg.suspend_processes(AutoScalingGroupName='a1', ScalingProcesses=['AZRebalance']))
    t('resume', lambda: asg.resume_processes(AutoScalingGroupName='a1', ScalingProcesses=['AZRebalance']))
    t('hook', lambda: asg.put_lifecycle_hook(AutoScalingGroupName='a1', LifecycleHookName='h', LifecycleTransition='autoscaling:EC2_INSTANCE_TERMINATING', HeartbeatTimeout=300, DefaultResult='CONTINUE', NotificationMetadata='meta'))
    t('hook bad', lambda: asg.put_lifecycle_hook(AutoScalingGroupName='a1', LifecycleHookName='h', HeartbeatTimeout=3), 'ValidationError')
    t('hooks', lambda: asg.describe_lifecycle_hooks(AutoScalingGroupName='a1'))
    for i in range(60):
        ins = asg.describe_auto_scaling_groups(AutoScalingGroupNames=['a1'])['AutoScalingGroups'][0]['Instances']
        if len(ins) == 2 and all(x['LifecycleState']=='InService' for x in ins): break
        time.sleep(0.5)
    iid = ins[0]['InstanceId']
    q = t('create queue', lambda: sqs.create_queue(QueueName='q1', Attributes={'VisibilityTimeout':'20'}))['QueueUrl']; dq = sqs.create_queue(QueueName='dead')['QueueUrl']
    qarn = sqs.get_queue_attributes(QueueUrl=q, AttributeNames=['QueueArn'])['Attributes']['QueueArn']; darn = sqs.get_queue_attributes(QueueUrl=dq, AttributeNames=['All'])['Attributes']['QueueArn']
    t('rule', lambda: ev.put_rule(Name='r', EventPattern=json.dumps({'source':['aws.autoscaling'],'detail-type':['EC2 Instance-terminate Lifecycle Action']})))
    t('targets', lambda: ev.put_targets(Rule='r', Targets=[dict(Id='1',Arn=qarn)]))
    t('rules', lambda: ev.list_rules())
    t('targets by rule', lambda: ev.list_targets_by_rule(Rule='r'))
    t('protect', lambda: asg.set_instance_protection(AutoScalingGroupName='a1', InstanceIds=[iid], ProtectedFromScaleIn=True))
    t('terminate', lambda: asg.terminate_instance_in_auto_scaling_group(InstanceId=iid, ShouldDecrementDesiredCapacity=True))
    t('terminate below min', lambda: asg.terminate_instance_in_auto_scaling_group(InstanceId=ins[1]['InstanceId'], ShouldDecrementDesiredCapacity=True), 'ValidationError')
    t('terminate unknown', lambda: asg.terminate_instance_in_auto_scaling_group(InstanceId='i-0', ShouldDecrementDesiredCapacity=True), 'ValidationError')
    b=time.time(); m = t('receive', lambda: sqs.receive_message(QueueUrl=q, WaitTimeSeconds=5, AttributeNames=['All']))
    t('heartbeat', lambda: asg.record_lifecycle_action_heartbeat(AutoScalingGroupName='a1', LifecycleHookName='h', InstanceId=iid))
    tok=json.loads(m['Messages'][0]['Body'])['detail']['LifecycleActionToken']
    t('complete by token', lambda: asg.complete_lifecycle_action(AutoScalingGroupName='a1', LifecycleHookName='h', LifecycleActionToken=tok, LifecycleActionResult='CONTINUE'))
    t('complete again', lambda: asg.complete_lifecycle_action(AutoScalingGroupName='a1', LifecycleHookName='h', InstanceId=iid, LifecycleActionResult='CONTINUE'), 'ValidationError')
    t('visibility', lambda: sqs.change_message_visibility(QueueUrl=q, ReceiptHandle=m['Messages'][0]['ReceiptHandle'], VisibilityTimeout=0)); m = sqs.receive_message(QueueUrl=q)
    t('delete msg', lambda: sqs.delete_message(QueueUrl=q, ReceiptHandle=m['Messages'][0]['ReceiptHandle']))
    t('redrive', lambda: sqs.set_queue_attributes(QueueUrl=q, Attributes={'RedrivePolicy': json.dumps({'deadLetterTargetArn':darn,'maxReceiveCount':1})}))
    t('batch', lambda: sqs.send_message_batch(QueueUrl=q, Entries=[dict(Id='a',MessageBody='one',MessageAttributes={'x':dict(DataType='String',StringValue='y')}),dict(Id='b',MessageBody='two')]))
    m = sqs.receive_message(QueueUrl=q, MaxNumberOfMessages=10, VisibilityTimeout=0, MessageAttributeNames=['All'])
    t('no queue', lambda: sqs.receive_message(QueueUrl=q+'x'), 'AWS.SimpleQueueService.NonExistentQueue')
    t('url', lambda: sqs.get_queue_url(QueueName='q1'))
    t('list', lambda: sqs.list_queues(QueueNamePrefix='q'))
    t('purge', lambda: sqs.purge_queue(QueueUrl=q))
    t('put events', lambda: ev.put_events(Entries=[dict(Source='x',DetailType='y',Detail='{}')])); 
    r=t('put events bad', lambda: ev.put_events(Entries=[dict(Source='x',DetailType='y',Detail='no')]))
    t('bad pattern', lambda: ev.put_rule(Name='z', EventPattern='{"a":"b"}'), 'InvalidEventPatternException')
    t('detach', lambda: asg.detach_instances(AutoScalingGroupName='a1', InstanceIds=[ins[1]['InstanceId']], ShouldDecrementDesiredCapacity=False))
    t('attach', lambda: asg.attach_instances(AutoScalingGroupName='a1', InstanceIds=[ins[1]['InstanceId']]))
    t('activities', lambda: asg.describe_scaling_activities(AutoScalingGroupName='a1'))
    t('tags', lambda: asg.describe_tags(Filters=[dict(Name='auto-scaling-group',Values=['a1'])]))
    t('lcs', lambda: asg.describe_launch_configurations())
    t('delete asg busy', lambda: asg.delete_auto_scaling_group(AutoScalingGroupName='a1'), 'ResourceInUse')
    t('delete asg', lambda: asg.delete_auto_scaling_group(AutoScalingGroupName='a1', ForceDelete=True))
    balanced(t, check, asg, elb, subnets)
    t('params', lambda: ssm.get_parameters(Names=['/aws/service/bottlerocket/aws-k8s-1.36/x86_64/latest/image_id','/no']))
    t('param no', lambda: ssm.get_parameter(Name='/no'), 'ParameterNotFound')
    for s, want in (('sts','InvalidClientTokenId'),('ec2','AuthFailure'),('eks','UnrecognizedClientException'),('sqs','UnrecognizedClientException')):
        x = boto3.client(s, aws_access_key_id='AKIAX', aws_secret_access_key='y')
        t('key '+s, {'sts':lambda: x.get_caller_identity(),'ec2':lambda: x.describe_instances(),'eks':lambda: x.list_clusters(),'sqs':lambda: x.list_queues()}[s], want)
    for s, want in (('sts','SignatureDoesNotMatch'),('ec2','AuthFailure'),('eks','InvalidSignatureException'),('events','InvalidSignatureException')):
        x = boto3.client(s, aws_access_key_id=os.environ['AWS_ACCESS_KEY_ID'], aws_secret_access_key='y')
        t('secret '+s, {'sts':lambda: x.get_caller_identity(),'ec2':lambda: x.describe_instances(),'eks':lambda: x.list_clusters(),'events':lambda: x.list_rules()}[s], want)


def balanced(t, check, asg, elb, subnets):
    """A group in a target group: its instances become healthy there, drain, and are gone."""
    delay = "deregistration_delay.timeout_seconds"
    account = asg.describe_auto_scaling_groups()['AutoScalingGroups'][0]['AutoScalingGroupARN'].split(':')
    tg = f"arn:aws:elasticloadbalancing:{account[3]}:{account[4]}:targetgroup/web/73e2d6bc24d8a067"
    t('target group absent', lambda: elb.describe_target_groups(TargetGroupArns=[tg]), 'TargetGroupNotFound')
    t('health absent', lambda: elb.describe_target_health(TargetGroupArn=tg), 'TargetGroupNotFound')
    t('create balanced asg', lambda: asg.create_auto_scaling_group(AutoScalingGroupName='b1', MinSize=2, MaxSize=3, DesiredCapacity=2, VPCZoneIdentifier=','.join(subnets), LaunchTemplate=dict(LaunchTemplateName='lt1', Version='$Latest'), TargetGroupARNs=[tg]))
    own = asg.describe_auto_scaling_groups(AutoScalingGroupNames=['b1'])['AutoScalingGroups'][0]
    check('target groups of the asg', own['TargetGroupARNs'] == [tg], str(own))
    shown = t('target groups', lambda: elb.describe_target_groups(TargetGroupArns=[tg]))['TargetGroups']
    whole = elb.meta.service_model.shape_for('TargetGroup').members.keys() - {'TargetControlPort'}
    check('target group: all members', len(shown) == 1 and set(shown[0]) == whole, str(shown))
    check('target group: by name', elb.describe_target_groups(Names=['web'])['TargetGroups'] == shown, str(shown))
    pages = list(elb.get_paginator('describe_target_groups').paginate(PaginationConfig=dict(PageSize=1)))
    check('target group: by pages', [one for page in pages for one in page['TargetGroups']] == shown, str(pages))
    t('page too large', lambda: elb.describe_target_groups(PageSize=401), 'ValidationError')
    balancers = t('load balancers', lambda: elb.describe_load_balancers(LoadBalancerArns=shown[0]['LoadBalancerArns']))['LoadBalancers']
    check('load balancer of the target group', len(balancers) == 1 and balancers[0]['State']['Code'] == 'active', str(balancers))
    t('load balancer absent', lambda: elb.describe_load_balancers(Names=['none']), 'LoadBalancerNotFound')
    first = {one['Key']: one['Value'] for one in t('attributes', lambda: elb.describe_target_group_attributes(TargetGroupArn=tg))['Attributes']}
    check('delay by default', first[delay] == '300', str(first))
    t('delay too long', lambda: elb.modify_target_group_attributes(TargetGroupArn=tg, Attributes=[dict(Key=delay, Value='3601')]), 'ValidationError')
    t('delay', lambda: elb.modify_target_group_attributes(TargetGroupArn=tg, Attributes=[dict(Key=delay, Value='2')]))

    def states():
        found = elb.describe_target_health(TargetGroupArn=tg)['TargetHealthDescriptions']
        return {one['Target']['Id']: (one['TargetHealth']['State'], one['TargetHealth'].get('Reason')) for one in found}

    def until(name, right):
        for _ in range(240):
            found = states()
            if right(found):
                break
            time.sleep(0.25)
        check(name, right(found), str(found))
        return found

    found = until('both are healthy', lambda found: len(found) == 2 and set(found.values()) == {('healthy', None)})
    one = sorted(found)[0]
    in_service = elb.get_waiter('target_in_service')
    t('waiter in service', lambda: in_service.wait(TargetGroupArn=tg, Targets=[dict(Id=one)], WaiterConfig=dict(Delay=1, MaxAttempts=5)))
    t('deregister', lambda: elb.deregister_targets(TargetGroupArn=tg, Targets=[dict(Id=one)]))
    check('it drains', states()[one] == ('draining', 'Target.DeregistrationInProgress'), str(states()))
    until('it is gone', lambda found: one not in found)
    gone = elb.describe_target_health(TargetGroupArn=tg, Targets=[dict(Id=one)])['TargetHealthDescriptions'][0]['TargetHealth']
    check('it is not registered', (gone['State'], gone['Reason']) == ('unused', 'Target.NotRegistered'), str(gone))
    t('register', lambda: elb.register_targets(TargetGroupArn=tg, Targets=[dict(Id=one)]))
    until('it is healthy again', lambda found: found.get(one) == ('healthy', None))
    t('register absent', lambda: elb.register_targets(TargetGroupArn=tg, Targets=[dict(Id='i-0123456789abcdef0')]), 'InvalidTarget')
    t('terminate a target', lambda: asg.terminate_instance_in_auto_scaling_group(InstanceId=one, ShouldDecrementDesiredCapacity=False))
    until('it drains before it ends', lambda found: found.get(one, ('', ''))[0] == 'draining')
    until('another takes its place', lambda found: one not in found and len(found) == 2 and {state for state, _ in found.values()} == {'healthy'})
    t('elb unknown', lambda: elb.describe_listeners(LoadBalancerArn=balancers[0]['LoadBalancerArn']), 'InvalidAction')
    t('delete balanced asg', lambda: asg.delete_auto_scaling_group(AutoScalingGroupName='b1', ForceDelete=True))
