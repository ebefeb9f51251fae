//! The forms that a line can have, each once: what is read, what a wrong line is told, and what docs/script.md explains.

use replank_model::object::cloud::{HealthStatus, Transition, VersionWord};
use replank_model::time::Span;
use replank_protocol::intent::Intent;

use super::read::Args;
use super::what::{Act, Befalls, CloudSays, Hand, Meta, PodDoes, Protection, Supply, Way, What, after};
use crate::cloud::{Delivery, Hazard, SpotEvent, StatusCheck, TargetChecks};
use crate::kubelet::{ImageFault, ImageName};
use crate::timing::Lasting;

/// One form of a line. Words in capitals stand for something; all others stand for themselves.
#[derive(Clone, Copy, Debug)]
pub struct Form {
    /// The words behind the moment.
    pub pattern: &'static str,
    /// What it makes happen.
    pub meaning: &'static str,
    build: fn(&mut Args) -> What,
}

impl Form {
    pub(super) fn build(&self, args: &mut Args) -> What {
        (self.build)(args)
    }
}

const fn form(pattern: &'static str, meaning: &'static str, build: fn(&mut Args) -> What) -> Form {
    Form { pattern, meaning, build }
}

fn hand(hand: Hand) -> What {
    What::Hand(hand)
}

fn some(args: &mut Args, befalls: Befalls) -> What {
    let (count, group) = (args.count(), args.group());
    What::Some(group, None, count, befalls)
}

/// All forms.
pub fn forms() -> impl Iterator<Item = &'static Form> {
    INTENTS.iter().chain(FAULTS).chain(HANDS)
}

/// Intents of the operator.
static INTENTS: &[Form] = &[
    form("pause", "the run starts no further node until it is resumed", |_| What::Intend(Intent::Paused)),
    form("resume", "the run continues", |_| What::Intend(Intent::Run)),
    form("cancel", "the run stops here and removes all its marks", |_| What::Intend(Intent::Cancelled)),
    form("undo", "the run is rolled back", |_| What::Intend(Intent::Undo)),
    form("replank restarts", "the deciding process restarts without memory", |_| What::Restart),
];

/// What goes wrong.
static FAULTS: &[Form] = &[
    form(
        "image IMAGE cannot stop pods",
        "kubelets of nodes with this image terminate no deleted pod; only terminating the instance helps",
        |args| What::Image(ImageName::Named(args.text()), Some(after(None))),
    ),
    form(
        "image IMAGE cannot stop pods after DURATION",
        "the same, once a node has existed for this long",
        |args| What::Image(ImageName::Named(args.text()), Some(after(Some(args.span())))),
    ),
    form(
        "image IMAGE crashes pods",
        "containers on such nodes, except those of DaemonSets, exit with code 1 a second after every start, and are restarted as a kubelet does: at once, then after 10 s, doubled up to 5 minutes",
        |args| What::Image(ImageName::Named(args.text()), Some(ImageFault::Crashes)),
    ),
    form(
        "image IMAGE keeps pods unready",
        "pods on such nodes are not Ready, except those of DaemonSets",
        |args| What::Image(ImageName::Named(args.text()), Some(ImageFault::KeepsUnready)),
    ),
    form(
        "image IMAGE slows starts by DURATION",
        "pods on such nodes, except those of DaemonSets, become Ready this much later than on others, after each start of their containers",
        |args| What::Image(ImageName::Named(args.text()), Some(ImageFault::SlowsStarts { by: args.span() })),
    ),
    form(
        "image IMAGE restarts pods every DURATION",
        "containers on such nodes, except those of DaemonSets, exit with code 1 whenever they have run for this long, and are restarted as a kubelet does: at once, or with back-off if that was 10 minutes or less",
        |args| {
            What::Image(ImageName::Named(args.text()), Some(ImageFault::RestartsPods { every: args.span() }))
        },
    ),
    form(
        "image IMAGE gives nodes CONDITION",
        "nodes with this image have this condition and its taint: `MemoryPressure`, `DiskPressure`, `PIDPressure` or `NetworkUnavailable`. Under pressure the kubelet evicts a pod every 10 seconds, whatever budgets say (below)",
        |args| {
            let image = ImageName::Named(args.text());
            What::Image(image, Some(ImageFault::Troubles { with: args.trouble(), after: Span::ZERO }))
        },
    ),
    form(
        "image IMAGE gives nodes CONDITION after DURATION",
        "the same, once a node has existed for this long",
        |args| {
            let image = ImageName::Named(args.text());
            let with = args.trouble();
            What::Image(image, Some(ImageFault::Troubles { with, after: args.span() }))
        },
    ),
    form(
        "image IMAGE breaks DNS",
        "no name is resolved on such nodes: pods that start there, except those of DaemonSets, do not become Ready, or exit with code 1 after 10 seconds (below)",
        |args| What::Image(ImageName::Named(args.text()), Some(ImageFault::BreaksDns)),
    ),
    form("image IMAGE recovers", "nodes with this image behave normally", |args| {
        What::Image(ImageName::Named(args.text()), None)
    }),
    form(
        "new image cannot stop pods",
        "the same for every launch template other than the one its group had at the start, for plans that name no image",
        |_| What::Image(ImageName::New, Some(after(None))),
    ),
    form("new image cannot stop pods after DURATION", "likewise", |args| {
        What::Image(ImageName::New, Some(after(Some(args.span()))))
    }),
    form("new image crashes pods", "likewise", |_| What::Image(ImageName::New, Some(ImageFault::Crashes))),
    form("new image keeps pods unready", "likewise", |_| {
        What::Image(ImageName::New, Some(ImageFault::KeepsUnready))
    }),
    form("new image slows starts by DURATION", "likewise", |args| {
        What::Image(ImageName::New, Some(ImageFault::SlowsStarts { by: args.span() }))
    }),
    form("new image restarts pods every DURATION", "likewise", |args| {
        What::Image(ImageName::New, Some(ImageFault::RestartsPods { every: args.span() }))
    }),
    form("new image gives nodes CONDITION", "likewise", |args| {
        What::Image(ImageName::New, Some(ImageFault::Troubles { with: args.trouble(), after: Span::ZERO }))
    }),
    form("new image gives nodes CONDITION after DURATION", "likewise", |args| {
        let with = args.trouble();
        What::Image(ImageName::New, Some(ImageFault::Troubles { with, after: args.span() }))
    }),
    form("new image breaks DNS", "likewise", |_| What::Image(ImageName::New, Some(ImageFault::BreaksDns))),
    form("new image recovers", "likewise", |_| What::Image(ImageName::New, None)),
    form("pod POD ready", "its readiness probe succeeds", |args| What::Pod(args.key(), PodDoes::Ready)),
    form("pod POD unready", "its readiness probe fails", |args| What::Pod(args.key(), PodDoes::Unready)),
    form("pod POD exits CODE", "its containers exit with this code; the restart policy applies", |args| {
        What::Pod(args.key(), PodDoes::Exit(args.code()))
    }),
    form("pod POD gets stuck", "its deletion does not complete", |args| {
        What::Pod(args.key(), PodDoes::Stick)
    }),
    form("pod POD gets unstuck", "its deletion completes", |args| What::Pod(args.key(), PodDoes::Unstick)),
    form("pods of KIND OBJECT ready", "the same for every pod of the workload at that time", |args| {
        What::Pods(args.kind(), args.key(), PodDoes::Ready)
    }),
    form("pods of KIND OBJECT unready", "likewise", |args| {
        What::Pods(args.kind(), args.key(), PodDoes::Unready)
    }),
    form("pods of KIND OBJECT exit CODE", "likewise", |args| {
        What::Pods(args.kind(), args.key(), PodDoes::Exit(args.code()))
    }),
    form("pods of KIND OBJECT get stuck", "likewise", |args| {
        What::Pods(args.kind(), args.key(), PodDoes::Stick)
    }),
    form("pods of KIND OBJECT get unstuck", "likewise", |args| {
        What::Pods(args.kind(), args.key(), PodDoes::Unstick)
    }),
    form(
        "spot instance NODE is taken back",
        "an interruption warning is sent; two minutes later the instance is gone, even with pods on it",
        |args| What::Cloud(args.words(), CloudSays::Spot),
    ),
    form(
        "instance NODE may be taken back",
        "a rebalance recommendation is sent; it has no further effect by itself",
        |args| What::Cloud(args.words(), CloudSays::Rebalance),
    ),
    form(
        "instance NODE is retired in DURATION",
        "an AWS Health event is sent; after DURATION the instance is gone, even with pods on it",
        |args| What::Cloud(args.words(), CloudSays::Retirement(args.span())),
    ),
    form(
        "instances NODES are retired in DURATION",
        "the same for several instances, separated by commas: one event names them all",
        |args| What::Cloud(args.words(), CloudSays::Retirement(args.span())),
    ),
    form(
        "COUNT spot instances of group GROUP are taken back",
        "the same for this many running instances, drawn at random",
        |args| some(args, Befalls::Cloud(CloudSays::Spot)),
    ),
    form("COUNT spot instances of group GROUP in ZONE are taken back", "the same in one zone", |args| {
        let (count, group, zone) = (args.count(), args.group(), args.any_zone());
        What::Some(group, zone, count, Befalls::Cloud(CloudSays::Spot))
    }),
    form(
        "COUNT instances of group GROUP end",
        "this many running instances, drawn at random, terminate without warning, as when their host fails",
        |args| some(args, Befalls::End),
    ),
    form(
        "MARKET capacity of TYPE in ZONE runs out",
        "launches fail with `InsufficientInstanceCapacity`; the market is `spot` or `on-demand`, and each of the three may be `any`. A group \
         tries its other types and zones, then again after a minute, two, up to ten",
        |args| What::Capacity(args.capacity(), Supply::RunsOut),
    ),
    form("MARKET capacity of TYPE in ZONE is back", "every shortage it covers is over", |args| {
        What::Capacity(args.capacity(), Supply::Back)
    }),
    form(
        "spot instances of TYPE in ZONE are taken back at RATE an hour",
        "this share of them, drawn per instance and hour; half of the warnings follow a rebalance recommendation up to 15 minutes earlier. Type and zone may be `any`; a rate for a type or zone overrides the rate for `any`; `0%` ends it",
        |args| {
            let (instance_type, zone) = (args.any_text(), args.any_zone());
            let event = SpotEvent::Interruption;
            What::Hazard(Hazard::Spot { event, instance_type, zone, rate: args.rate() })
        },
    ),
    form(
        "spot instances of TYPE in ZONE may be taken back at RATE an hour",
        "the same with rebalance recommendations, which have no further effect by themselves",
        |args| {
            let (instance_type, zone) = (args.any_text(), args.any_zone());
            let event = SpotEvent::Rebalance;
            What::Hazard(Hazard::Spot { event, instance_type, zone, rate: args.rate() })
        },
    ),
    form(
        "instances of group GROUP are retired at RATE a day with DURATION notice",
        "AWS Health events for this share of them, drawn per instance and day; when the notice is over the instance is gone",
        |args| {
            let (group, rate) = (args.group(), args.rate());
            What::Hazard(Hazard::Retirement { group, notice: args.span(), rate })
        },
    ),
    form(
        "queue receives BODY",
        "the queue for instance events receives a message: the rest of the line, unparsed",
        |args| What::Post(args.word()),
    ),
    form("events are lost for DURATION", "no instance event reaches the queue", |args| {
        What::Queue(Delivery::Lost(args.span()))
    }),
    form(
        "queue delivers one message in COUNT twice",
        "from now on, instead of one in ten; none for 0",
        |args| What::Queue(Delivery::Twice(args.count())),
    ),
    form(
        "queue delivers one message in COUNT late by DURATION",
        "from now on this many arrive this much later, after messages sent later; none for 0",
        |args| {
            let count = args.count();
            What::Queue(Delivery::Late(count, args.span()))
        },
    ),
    form(
        "node NODE falls silent",
        "its kubelet stops reporting, and its pods stop; EC2's status checks pass, so its group keeps the instance",
        |args| What::Silence(args.word()),
    ),
    form("node NODE speaks again", "its kubelet reports again, and resumes its pods", |args| {
        What::Wake(args.word())
    }),
    form(
        "instance NODE fails its status checks",
        "its machine does not respond, and its kubelet stops reporting. One to three minutes later its group marks it `Unhealthy` (process `HealthCheck`), terminates it and launches another (`ReplaceUnhealthy`)",
        |args| What::Status(args.word(), StatusCheck::Fails),
    ),
    form(
        "new targets of group GROUP stay unhealthy",
        "instances that the group launches from now on fail the health checks of its target groups",
        |args| What::Targets(args.group(), TargetChecks::Fail),
    ),
    form(
        "targets of instance NODE become unhealthy",
        "the instance fails the health checks of its target groups while its node is Ready",
        |args| What::UnhealthyTarget(args.word()),
    ),
    form("targets of group GROUP recover", "all instances of the group pass them, after a check", |args| {
        What::Targets(args.group(), TargetChecks::Pass)
    }),
    form(
        "instance NODE passes its status checks",
        "it responds again, and its kubelet resumes its pods; if its group has marked it `Unhealthy`, it stays so",
        |args| What::Status(args.word(), StatusCheck::Passes),
    ),
];

/// What others do.
static HANDS: &[Form] = &[
    form("somebody cordons NODE", "`kubectl cordon`", |args| hand(Hand::Cordon(args.word()))),
    form("somebody uncordons NODE", "`kubectl uncordon`", |args| hand(Hand::Uncordon(args.word()))),
    form("somebody evicts POD", "one request to the Eviction API, without a second try", |args| {
        hand(Hand::Evict(args.key()))
    }),
    form(
        "somebody drains NODES",
        "`kubectl drain --ignore-daemonsets --delete-emptydir-data` of one node, or several with commas between them: all are cordoned, then one after the other is emptied. All its pods are asked for at once, and again every five seconds while a budget refuses; a pod under two budgets is given up at once, and the next node follows. A pod without a controller keeps it from beginning, as without `--force`",
        |args| hand(Hand::Drain(args.words())),
    ),
    form("somebody taints NODE TAINT", "`kubectl taint`", |args| hand(Hand::Taint(args.word(), args.json()))),
    form(
        "somebody ends instance NODE",
        "the instance behind the node is terminated without a drain; its group launches another",
        |args| hand(Hand::EndInstance(args.word())),
    ),
    form(
        "nobody replaces NODE",
        "with `provider: external`: the node stays when it is drained, and no other comes in its place",
        |args| hand(Hand::LeaveDrained(args.word())),
    ),
    form(
        "somebody replaces drained nodes after DURATION",
        "with `provider: external`: from now on each machine is taken away this long after its node is empty, instead of 2 to 10 minutes",
        |args| hand(Hand::Takes(Lasting::Replacement, args.span())),
    ),
    form(
        "instances take DURATION to start",
        "from now on an instance's node is Ready this long after its launch, instead of after a time that is drawn",
        |args| hand(Hand::Takes(Lasting::Start, args.span())),
    ),
    form(
        "instances take DURATION to stop",
        "from now on an instance's node is gone this long after its termination was requested",
        |args| hand(Hand::Takes(Lasting::Stop, args.span())),
    ),
    form(
        "changes are seen within DURATION",
        "from now on the run sees changes and answers after this long at most, instead of 2 seconds: an API server nearby",
        |args| hand(Hand::Takes(Lasting::Sight, args.span())),
    ),
    form(
        "somebody scales group GROUP to COUNT",
        "the group's desired size is set; its bounds are widened if necessary",
        |args| hand(Hand::ScaleGroup(args.group(), args.count())),
    ),
    form(
        "somebody hooks group GROUP with HOOK for DURATION",
        "a termination lifecycle hook with this heartbeat timeout; from then on the group keeps every terminating instance until the action is completed or the timeout expires",
        |args| {
            let (group, hook) = (args.group(), args.text());
            hand(Hand::Hook(group, Transition::Terminating, hook, args.span()))
        },
    ),
    form(
        "somebody hooks launches of group GROUP with HOOK for DURATION",
        "a launch lifecycle hook: a new instance enters service when the action is completed; when the timeout expires it is terminated",
        |args| {
            let (group, hook) = (args.group(), args.text());
            hand(Hand::Hook(group, Transition::Launching, hook, args.span()))
        },
    ),
    form(
        "somebody suspends PROCESS of group GROUP",
        "a process of its Auto Scaling group, such as `Launch`, `Terminate`, `AZRebalance`, `HealthCheck` or `ReplaceUnhealthy`; [simulation.md](simulation.md) says what each does in a rehearsal",
        |args| {
            let process = args.process();
            hand(Hand::Ways(args.group(), Way::Suspend(process)))
        },
    ),
    form(
        "somebody resumes PROCESS of group GROUP",
        "the process resumes. A snapshot does not show a group's processes: `AZRebalance` is assumed suspended until then. A group that balances its zones launches where it has few instances before it terminates where it has many, up to a tenth (at least one) above its maximum",
        |args| {
            let process = args.process();
            hand(Hand::Ways(args.group(), Way::Resume(process)))
        },
    ),
    form(
        "somebody makes a launch template version of group GROUP with IMAGE",
        "`aws ec2 create-launch-template-version`: as the group's present version, with another image. A group whose version is `$Latest` launches it from then on",
        |args| {
            let (group, image) = (args.group(), args.text());
            hand(Hand::NewVersion(group, image))
        },
    ),
    form(
        "somebody makes the last launch template version of group GROUP the default",
        "`aws ec2 modify-launch-template`: a group whose version is `$Default` launches it from then on",
        |args| hand(Hand::DefaultVersion(args.group())),
    ),
    form(
        "somebody has group GROUP launch $Latest",
        "`aws autoscaling update-auto-scaling-group`: the group's launch template version is this word, and no number",
        |args| hand(Hand::Follow(args.group(), VersionWord::Latest)),
    ),
    form("somebody has group GROUP launch $Default", "likewise", |args| {
        hand(Hand::Follow(args.group(), VersionWord::Default))
    }),
    form(
        "somebody gives group GROUP termination policies POLICIES",
        "such as `OldestInstance,Default`: which instance is terminated first on scale-in, within the zone that has most",
        |args| {
            let group = args.group();
            hand(Hand::Ways(group, Way::Policies(args.policies())))
        },
    ),
    form(
        "somebody protects new instances of group GROUP",
        "new instances of the group are protected from scale-in",
        |args| hand(Hand::Ways(args.group(), Way::ProtectNew(Protection::On))),
    ),
    form("somebody unprotects new instances of group GROUP", "ends the protection", |args| {
        hand(Hand::Ways(args.group(), Way::ProtectNew(Protection::Off)))
    }),
    form(
        "somebody protects instance NODE",
        "protects it from scale-in of its group, and from nothing else",
        |args| hand(Hand::Protect(args.word(), Protection::On)),
    ),
    form("somebody unprotects instance NODE", "ends the protection", |args| {
        hand(Hand::Protect(args.word(), Protection::Off))
    }),
    form(
        "somebody marks instance NODE unhealthy",
        "`aws autoscaling set-instance-health --health-status Unhealthy`: works while `HealthCheck` is suspended, too",
        |args| hand(Hand::Health(args.word(), HealthStatus::Unhealthy)),
    ),
    form("somebody marks instance NODE healthy", "the same with `Healthy`", |args| {
        hand(Hand::Health(args.word(), HealthStatus::Healthy))
    }),
    form(
        "somebody registers instance NODE",
        "`aws elbv2 register-targets` with the target groups of its Auto Scaling group, as is necessary for instances that were launched while `AddToLoadBalancer` was suspended",
        |args| hand(Hand::RegisterTargets(args.word())),
    ),
    form("somebody scales KIND OBJECT to COUNT", "`kubectl scale`", |args| {
        hand(Hand::Scale(args.kind(), args.key(), args.count()))
    }),
    form("somebody restarts KIND OBJECT", "`kubectl rollout restart`", |args| {
        hand(Hand::Restart(args.kind(), args.key()))
    }),
    form("somebody deletes KIND OBJECT", "`kubectl delete`", |args| {
        hand(Hand::Delete(args.kind(), args.key()))
    }),
    form("somebody labels KIND OBJECT KEY=VALUE", "`kubectl label --overwrite`", |args| {
        let (kind, key, (name, value)) = (args.kind(), args.key(), args.pair());
        hand(Hand::Write(Meta::Label, Act::Set(name, value), kind, key))
    }),
    form("somebody annotates KIND OBJECT KEY=VALUE", "`kubectl annotate --overwrite`", |args| {
        let (kind, key, (name, value)) = (args.kind(), args.key(), args.pair());
        hand(Hand::Write(Meta::Annotation, Act::Set(name, value), kind, key))
    }),
    form("somebody removes label KEY from KIND OBJECT", "`kubectl label KEY-`", |args| {
        let (name, kind, key) = (args.word(), args.kind(), args.key());
        hand(Hand::Write(Meta::Label, Act::Remove(name), kind, key))
    }),
    form("somebody removes annotation KEY from KIND OBJECT", "`kubectl annotate KEY-`", |args| {
        let (name, kind, key) = (args.word(), args.kind(), args.key());
        hand(Hand::Write(Meta::Annotation, Act::Remove(name), kind, key))
    }),
    form("somebody removes tag KEY from group GROUP", "a tag of an Auto Scaling group is deleted", |args| {
        let (key, group) = (args.text(), args.group());
        hand(Hand::Untag(group, key))
    }),
    form(
        "somebody patches KIND OBJECT PATCH",
        "`kubectl patch --type merge`; the patch is JSON on one line",
        |args| hand(Hand::Patch(args.kind(), args.key(), args.json())),
    ),
    form(
        "somebody creates OBJECTS",
        "`kubectl apply`; an object, or a list of them, in JSON on one line",
        |args| hand(Hand::Create(args.objects())),
    ),
];
