//! Services and their endpoints.

use crate::labels::TextMap;
use crate::object::meta::Meta;
use crate::text::{Name, Namespace, NodeName, Text, Uid};
use crate::wire::wire;

wire! {
    /// core/v1 Service.
    pub struct Service {
        /// Metadata.
        #[serde(rename = "metadata")]
        pub meta: Meta,
        /// Desired state.
        pub spec: ServiceSpec,
    }

    /// core/v1 ServiceSpec.
    pub struct ServiceSpec {
        /// Labels of the pods behind it; empty means somebody else keeps the endpoints.
        pub selector: TextMap,
        /// ClusterIP, NodePort, LoadBalancer, ExternalName; empty means ClusterIP.
        pub r#type: Text,
        /// `None` for headless.
        #[serde(rename = "clusterIP")]
        pub cluster_ip: Text,
        /// Whether unready pods count as ready.
        pub publish_not_ready_addresses: bool,
        /// Cluster or Local.
        pub external_traffic_policy: Text,
        /// Ports.
        pub ports: Vec<ServicePort>,
    }

    /// core/v1 ServicePort.
    pub struct ServicePort {
        /// Name.
        pub name: Text,
        /// Port.
        pub port: i32,
        /// Protocol; empty means TCP.
        pub protocol: Text,
    }

    /// discovery.k8s.io/v1 EndpointSlice.
    pub struct EndpointSlice {
        /// Metadata.
        #[serde(rename = "metadata")]
        pub meta: Meta,
        /// IPv4, IPv6 or FQDN.
        pub address_type: Text,
        /// Endpoints.
        pub endpoints: Vec<Endpoint>,
    }

    /// discovery.k8s.io/v1 Endpoint.
    pub struct Endpoint {
        /// Addresses.
        pub addresses: Vec<Text>,
        /// Whether it serves.
        pub conditions: EndpointConditions,
        /// Node it runs on.
        pub node_name: Option<NodeName>,
        /// The pod.
        pub target_ref: Option<EndpointTarget>,
        /// Zone of the node.
        pub zone: Option<Text>,
    }

    /// discovery.k8s.io/v1 EndpointConditions.
    pub struct EndpointConditions {
        /// Takes new connections.
        pub ready: Option<bool>,
        /// Would take connections, were it not terminating.
        pub serving: Option<bool>,
        /// On its way out.
        pub terminating: Option<bool>,
    }

    /// The pod behind an endpoint (core/v1 ObjectReference).
    pub struct EndpointTarget {
        /// Kind: Pod.
        pub kind: Text,
        /// Namespace.
        pub namespace: Namespace,
        /// Name.
        pub name: Name,
        /// Uid.
        pub uid: Uid,
    }
}
