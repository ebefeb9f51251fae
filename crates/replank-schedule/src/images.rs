//! Images on nodes: how many nodes have each, and how large it is.
//!
//! Source: ImageLocality (Kubernetes 1.36 `pkg/scheduler/framework/plugins/imagelocality/image_locality.go`) and the
//! image states of the cache (`pkg/scheduler/backend/cache/cache.go`).

use std::collections::BTreeMap;

use replank_model::object::node::Node;
use replank_model::object::pod::PodSpec;
use replank_model::text::{NodeName, Text};

use super::ids::{ImageId, ImagesId};
use super::intern::Interned;

const MEBIBYTE: i64 = 1024 * 1024;
/// Images of which less is there count as not there at all.
const FLOOR: i64 = 23 * MEBIBYTE;
/// What is more than this for each container does not count further.
const CEILING_PER_CONTAINER: i64 = 1000 * MEBIBYTE;
/// The best score.
const BEST: i64 = 100;

#[derive(Clone, Debug, Default)]
struct Image {
    /// The size that each node reports. Upstream takes it from whichever node it saw first, which is the first by name
    /// when it starts; here it is that one always, so that the order in which nodes are observed does not matter.
    sizes: BTreeMap<NodeName, i64>,
    /// The first of them.
    size: i64,
}

/// The images of a pod: each once, with how often it is used, and how many containers share them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct PodImages {
    images: Vec<(ImageId, u32)>,
    containers: usize,
}

/// All images that nodes have or pods use.
#[derive(Clone, Debug, Default)]
pub(super) struct Images {
    images: Interned<Text, Image>,
    of_pods: Interned<PodImages, PodImages>,
    /// How often an image appeared that no node had.
    pub(super) arrivals: u64,
}

impl Images {
    fn id(&mut self, name: &Text) -> ImageId {
        match self.images.find(name) {
            Some(id) => ImageId(id),
            None => ImageId(self.images.insert(name.clone(), Image::default())),
        }
    }

    /// The images of a node, sorted, each once.
    pub(super) fn of_node(&mut self, node: &Node) -> Vec<ImageId> {
        let names = node.status.images.iter().flat_map(|image| &image.names);
        let mut ids: Vec<ImageId> = names.map(|name| self.id(name)).collect();
        ids.sort();
        ids.dedup();
        ids
    }

    /// Counts a node's images, or with a negative sign no longer.
    pub(super) fn count(&mut self, node: &Node, is_there: bool) {
        let mut seen: Vec<ImageId> = Vec::new();
        let node_name = node.name();
        for image in &node.status.images {
            for name in &image.names {
                let id = self.id(name);
                // Of two entries of one name the first counts.
                if seen.contains(&id) {
                    continue;
                }
                seen.push(id);
                let known = self.images.get_mut(id.0);
                if is_there {
                    self.arrivals += u64::from(known.sizes.is_empty());
                    known.sizes.insert(node_name.clone(), image.size_bytes);
                } else {
                    known.sizes.remove(&node_name);
                }
                known.size = known.sizes.values().next().copied().unwrap_or(0);
            }
        }
    }

    /// The images that a pod uses.
    pub(super) fn of_pod(&mut self, spec: &PodSpec) -> ImagesId {
        let containers =
            spec.init_containers.iter().chain(&spec.containers).map(|container| &container.image);
        let volumes = spec.volumes.iter().filter_map(|volume| Some(&volume.source.image.as_ref()?.reference));
        let mut images: Vec<(ImageId, u32)> = Vec::new();
        for name in containers.chain(volumes) {
            let id = self.id(&normalized(name));
            match images.iter_mut().find(|(known, _)| *known == id) {
                Some((_, uses)) => *uses += 1,
                None => images.push((id, 1)),
            }
        }
        images.sort();
        let key = PodImages { images, containers: spec.init_containers.len() + spec.containers.len() };
        match self.of_pods.find(&key) {
            Some(id) => ImagesId(id),
            None => ImagesId(self.of_pods.insert(key.clone(), key)),
        }
    }

    /// Whether some node has an image of the pod's.
    pub(super) fn is_anywhere(&self, pod: ImagesId) -> bool {
        self.of_pods.get(pod.0).images.iter().any(|(image, _)| !self.images.get(image.0).sizes.is_empty())
    }

    /// Which of a pod's images are among a node's, as positions in the pod's list.
    pub(super) fn present(&self, pod: ImagesId, on_node: &[ImageId]) -> impl Iterator<Item = usize> {
        let of_pod: &[(ImageId, u32)] =
            if on_node.is_empty() { &[] } else { &self.of_pods.get(pod.0).images };
        of_pod
            .iter()
            .enumerate()
            .filter(|(_, (image, _))| on_node.binary_search(image).is_ok())
            .map(|(at, _)| at)
    }

    /// The score of a node that has these of a pod's images.
    pub(super) fn score(
        &self,
        pod: ImagesId,
        present: impl Iterator<Item = usize>,
        total_nodes: usize,
    ) -> i64 {
        let pod = self.of_pods.get(pod.0);
        let sum: i64 = present
            .map(|at| {
                let (image, uses) = pod.images[at];
                let image = self.images.get(image.0);
                let spread = image.sizes.len() as f64 / total_nodes as f64;
                i64::from(uses) * (image.size as f64 * spread) as i64
            })
            .sum();
        let ceiling =
            CEILING_PER_CONTAINER * i64::try_from(pod.containers).expect("a pod has few containers");
        let sum = if sum < FLOOR { FLOOR } else { sum.min(ceiling) };
        BEST * (sum - FLOOR) / (ceiling - FLOOR)
    }
}

/// An image's name with the tag that is meant when there is none (`normalizedImageName`).
fn normalized(name: &Text) -> Text {
    let after = |sign: char| name.rfind(sign).map_or(-1, |at| i64::try_from(at).expect("a name is short"));
    if after(':') <= after('/') { format!("{name}:latest").into() } else { name.clone() }
}
