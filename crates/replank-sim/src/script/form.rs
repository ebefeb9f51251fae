//! The forms that a line can have, each once: what is read, what a wrong line is told, and what docs/script.md explains.

use replank_model::object::cloud::Transition;
use replank_protocol::intent::Intent;

use super::read::Args;
use super::what::{Act, Befalls, CloudSays, Hand, Meta, PodDoes, Protection, Supply, Way, What, after};
use crate::cloud::{Delivery, Hazard, SpotEvent};
use crate::kubelet::{ImageFault, ImageName};

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

/// What whoever is in charge wants.
static INTENTS: &[Form] = &[
    form("pause", "the run begins nothing further until it is resumed", |_| What::Intend(Intent::Paused)),
    form("resume", "it goes on", |_| What::Intend(Intent::Run)),
    form("cancel", "it ends here and leaves nothing of its own behind", |_| What::Intend(Intent::Cancelled)),
    form("undo", "everything is put back as it was before the run", |_| What::Intend(Intent::Undo)),
    form("replank restarts", "the process that decides is started anew and remembers nothing", |_| {
        What::Restart
    }),
];

/// What goes wrong.
static FAULTS: &[Form] = &[
    form(
        "image IMAGE cannot stop pods",
        "kubelets of nodes with this image end no pod that is told to stop; only the end of the instance helps",
        |args| What::Image(ImageName::Named(args.text()), Some(after(None))),
    ),
    form(
        "image IMAGE cannot stop pods after DURATION",
        "the same, once a node has been there for so long",
        |args| What::Image(ImageName::Named(args.text()), Some(after(Some(args.span())))),
    ),
    form(
        "image IMAGE crashes pods",
        "containers on such nodes end with code 1 a second after every start, and are started again as a kubelet does: at once, \
         then after 10 s, doubled to 5 minutes; those of DaemonSets aside",
        |args| What::Image(ImageName::Named(args.text()), Some(ImageFault::Crashes)),
    ),
    form(
        "image IMAGE keeps pods unready",
        "pods on such nodes are not Ready; those of DaemonSets aside",
        |args| What::Image(ImageName::Named(args.text()), Some(ImageFault::KeepsUnready)),
    ),
    form("image IMAGE recovers", "nodes with this image behave as others do", |args| {
        What::Image(ImageName::Named(args.text()), None)
    }),
    form(
        "new image cannot stop pods",
        "the same of every launch template that is not the one that its group had at the beginning, for plans that name no image",
        |_| What::Image(ImageName::New, Some(after(None))),
    ),
    form("new image cannot stop pods after DURATION", "likewise", |args| {
        What::Image(ImageName::New, Some(after(Some(args.span()))))
    }),
    form("new image crashes pods", "likewise", |_| What::Image(ImageName::New, Some(ImageFault::Crashes))),
    form("new image keeps pods unready", "likewise", |_| {
        What::Image(ImageName::New, Some(ImageFault::KeepsUnready))
    }),
    form("new image recovers", "likewise", |_| What::Image(ImageName::New, None)),
    form("pod POD ready", "its readiness probe says yes", |args| What::Pod(args.key(), PodDoes::Ready)),
    form("pod POD unready", "its readiness probe says no", |args| What::Pod(args.key(), PodDoes::Unready)),
    form(
        "pod POD exits CODE",
        "its containers end with this code; what the restart policy says follows",
        |args| What::Pod(args.key(), PodDoes::Exit(args.code())),
    ),
    form("pod POD gets stuck", "its deletion will not be finished", |args| {
        What::Pod(args.key(), PodDoes::Stick)
    }),
    form("pod POD gets unstuck", "it will", |args| What::Pod(args.key(), PodDoes::Unstick)),
    form("pods of KIND OBJECT ready", "the same of every pod that a workload has at that moment", |args| {
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
        "an interruption warning is sent; two minutes later the instance is gone, whatever is on it",
        |args| What::Cloud(args.words(), CloudSays::Spot),
    ),
    form(
        "instance NODE may be taken back",
        "a rebalance recommendation is sent; nothing follows from it by itself",
        |args| What::Cloud(args.words(), CloudSays::Rebalance),
    ),
    form(
        "instance NODE is retired in DURATION",
        "an AWS Health event is sent; then the instance is gone, whatever is on it",
        |args| What::Cloud(args.words(), CloudSays::Retirement(args.span())),
    ),
    form(
        "instances NODES are retired in DURATION",
        "the same of several, with commas between them: one event names them all",
        |args| What::Cloud(args.words(), CloudSays::Retirement(args.span())),
    ),
    form(
        "COUNT spot instances of group GROUP are taken back",
        "the same of so many that run; which ones is drawn",
        |args| some(args, Befalls::Cloud(CloudSays::Spot)),
    ),
    form("COUNT spot instances of group GROUP in ZONE are taken back", "likewise, of one zone", |args| {
        let (count, group, zone) = (args.count(), args.group(), args.any_zone());
        What::Some(group, zone, count, Befalls::Cloud(CloudSays::Spot))
    }),
    form(
        "COUNT instances of group GROUP end",
        "so many instances that run are ended without a word before, as when their host fails; which ones is drawn",
        |args| some(args, Befalls::End),
    ),
    form(
        "MARKET capacity of TYPE in ZONE runs out",
        "launches fail with `InsufficientInstanceCapacity`; the market is `spot` or `on-demand`, and each of the three may be `any`. A group \
         tries its other types and zones, then again after a minute, two, up to ten",
        |args| What::Capacity(args.capacity(), Supply::RunsOut),
    ),
    form("MARKET capacity of TYPE in ZONE is back", "every shortage within it is over", |args| {
        What::Capacity(args.capacity(), Supply::Back)
    }),
    form(
        "spot instances of TYPE in ZONE are taken back at RATE an hour",
        "such a share of them, drawn for each instance and hour; half of the warnings come with a rebalance recommendation up to a quarter of an \
         hour before. Type and zone may be `any`; what is said of a type or a zone holds there in place of what is said of any; `0%` ends it",
        |args| {
            let (instance_type, zone) = (args.any_text(), args.any_zone());
            let event = SpotEvent::Interruption;
            What::Hazard(Hazard::Spot { event, instance_type, zone, rate: args.rate() })
        },
    ),
    form(
        "spot instances of TYPE in ZONE may be taken back at RATE an hour",
        "likewise, with rebalance recommendations, from which nothing follows by itself",
        |args| {
            let (instance_type, zone) = (args.any_text(), args.any_zone());
            let event = SpotEvent::Rebalance;
            What::Hazard(Hazard::Spot { event, instance_type, zone, rate: args.rate() })
        },
    ),
    form(
        "instances of group GROUP are retired at RATE a day with DURATION notice",
        "AWS Health events for such a share of them, drawn for each instance and day; when the notice is over the instance is gone",
        |args| {
            let (group, rate) = (args.group(), args.rate());
            What::Hazard(Hazard::Retirement { group, notice: args.span(), rate })
        },
    ),
    form(
        "queue receives BODY",
        "a message comes by the queue for events about instances: the rest of the line, whatever it is",
        |args| What::Post(args.word()),
    ),
    form("events are lost for DURATION", "no event about instances reaches the queue", |args| {
        What::Queue(Delivery::Lost(args.span()))
    }),
    form(
        "queue delivers one message in COUNT twice",
        "from now on, in place of one in ten; none for 0",
        |args| What::Queue(Delivery::Twice(args.count())),
    ),
    form(
        "queue delivers one message in COUNT late by DURATION",
        "from now on so many come so much later than they would, after others that were sent later; none for 0",
        |args| {
            let count = args.count();
            What::Queue(Delivery::Late(count, args.span()))
        },
    ),
    form("node NODE falls silent", "its machine goes off: its kubelet is not heard of", |args| {
        What::Silence(args.word())
    }),
    form("node NODE speaks again", "its machine is on again, and its kubelet takes up its pods", |args| {
        What::Wake(args.word())
    }),
];

/// What others do.
static HANDS: &[Form] = &[
    form("somebody cordons NODE", "`kubectl cordon`", |args| hand(Hand::Cordon(args.word()))),
    form("somebody uncordons NODE", "`kubectl uncordon`", |args| hand(Hand::Uncordon(args.word()))),
    form("somebody taints NODE TAINT", "`kubectl taint`", |args| hand(Hand::Taint(args.word(), args.json()))),
    form(
        "somebody ends instance NODE",
        "the instance behind the node is terminated without a drain; its group launches another",
        |args| hand(Hand::EndInstance(args.word())),
    ),
    form(
        "somebody scales group GROUP to COUNT",
        "a node group wants so many nodes; its bounds give way where they must",
        |args| hand(Hand::ScaleGroup(args.group(), args.count())),
    ),
    form(
        "somebody hooks group GROUP with HOOK for DURATION",
        "a termination lifecycle hook with this heartbeat timeout; from then on the group holds every instance that it ends until the \
         action is completed, or the timeout is over",
        |args| {
            let (group, hook) = (args.group(), args.text());
            hand(Hand::Hook(group, Transition::Terminating, hook, args.span()))
        },
    ),
    form(
        "somebody hooks launches of group GROUP with HOOK for DURATION",
        "a launch lifecycle hook: a new instance goes into service when the action is completed; when the timeout is over it is ended",
        |args| {
            let (group, hook) = (args.group(), args.text());
            hand(Hand::Hook(group, Transition::Launching, hook, args.span()))
        },
    ),
    form("somebody suspends PROCESS of group GROUP", "`Launch`, `Terminate` or `AZRebalance`", |args| {
        let process = args.process();
        hand(Hand::Ways(args.group(), Way::Suspend(process)))
    }),
    form(
        "somebody resumes PROCESS of group GROUP",
        "likewise; what a group of a snapshot does about its zones is not known: `AZRebalance` is taken to be suspended until then. A group \
         that balances its zones launches where it has few before it ends where it has many, beyond its maximum by a tenth or one",
        |args| {
            let process = args.process();
            hand(Hand::Ways(args.group(), Way::Resume(process)))
        },
    ),
    form(
        "somebody gives group GROUP termination policies POLICIES",
        "such as `OldestInstance,Default`: which instance goes first when the group wants fewer, within the zone that has most",
        |args| {
            let group = args.group();
            hand(Hand::Ways(group, Way::Policies(args.policies())))
        },
    ),
    form(
        "somebody protects new instances of group GROUP",
        "what the group launches is protected from scale-in",
        |args| hand(Hand::Ways(args.group(), Way::ProtectNew(Protection::On))),
    ),
    form("somebody unprotects new instances of group GROUP", "no longer", |args| {
        hand(Hand::Ways(args.group(), Way::ProtectNew(Protection::Off)))
    }),
    form(
        "somebody protects instance NODE",
        "its group leaves it alone when it wants fewer; it is no protection against anything else",
        |args| hand(Hand::Protect(args.word(), Protection::On)),
    ),
    form("somebody unprotects instance NODE", "no longer", |args| {
        hand(Hand::Protect(args.word(), Protection::Off))
    }),
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
