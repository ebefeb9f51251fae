//! Services and their endpoints.

use crate::int_or_string::IntOrString;
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
        /// IPv4, IPv6 or both.
        pub ip_families: Vec<Text>,
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
        /// Port of the pods, by number or name; absent means the same.
        pub target_port: Option<IntOrString>,
        /// Protocol above the transport.
        pub app_protocol: Option<Text>,
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
        /// Ports of all endpoints.
        pub ports: Vec<EndpointPort>,
    }

    /// discovery.k8s.io/v1 EndpointPort.
    pub struct EndpointPort {
        /// Name of the Service's port.
        pub name: Option<Text>,
        /// Port of the pods.
        pub port: Option<i32>,
        /// Protocol.
        pub protocol: Option<Text>,
        /// Protocol above the transport.
        pub app_protocol: Option<Text>,
    }

    /// discovery.k8s.io/v1 Endpoint.
    pub struct Endpoint {
        /// Addresses.
        pub addresses: Vec<Text>,
        /// Whether it serves.
        pub conditions: EndpointConditions,
        /// Host name, for the pods of a headless Service that have one.
        pub hostname: Option<Text>,
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
