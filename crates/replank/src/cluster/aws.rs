//! AWS' APIs beside the Kubernetes API of a served cluster.

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;

use anyhow::Context;
use replank_api::{OutsideTokens, Owner, Release, TokenSigner};
use replank_aws::{Credentials, Gate, Server, Setting, Takes};
use replank_cluster::{AwsBackend, IamTokens, Start, places};
use tokio::sync::watch;

use super::args::UpArgs;
use super::{data_dir, listening::listen};
use crate::failure::Failure;

/// The account's number: the one that AWS' documentation uses.
const ACCOUNT: &str = "111122223333";

/// What is to be served.
#[derive(Debug)]
pub(super) struct Aws {
    /// What the account is told.
    pub(super) setting: Setting,
    listener: TcpListener,
    credentials: Credentials,
}

/// What somebody who uses it has to know.
#[derive(Debug)]
pub(super) struct Told {
    /// For people.
    pub(super) story: String,
    /// For a shell.
    pub(super) exports: String,
}

impl Aws {
    /// Takes an address, and a key.
    ///
    /// # Errors
    /// Where the address is taken, or the key cannot be read or written.
    pub(super) fn begin(
        args: &UpArgs,
        start: &Start,
        kubernetes: SocketAddr,
        authority: &str,
    ) -> Result<Self, Failure> {
        let listener = listen(SocketAddr::new(args.address, args.aws_port), "--aws-port")?;
        let own = listener.local_addr().context("cannot tell the address").map_err(Failure::internal)?;
        let Release { minor, .. } = args.kubernetes_version;
        let (region, cluster) = places(start);
        let setting = Setting {
            account: ACCOUNT.to_owned(),
            region,
            cluster: args.cluster_name.clone().unwrap_or(cluster),
            version: format!("1.{minor}"),
            endpoint: format!("https://{kubernetes}"),
            authority: authority.to_owned(),
            own: format!("http://{own}"),
            takes: Takes::default().faster(args.speed),
            denied: args.aws_deny.clone(),
        };
        Ok(Self { setting, listener, credentials: data_dir::credentials(args.data_dir.as_deref())? })
    }

    /// What requests are held to.
    fn gate(&self) -> Gate {
        Gate::new(self.credentials.clone(), &self.setting.region)
    }

    /// Who knows the tokens that `aws eks get-token` makes.
    pub(super) fn tokens(&self) -> Arc<dyn OutsideTokens> {
        let Setting { account, cluster, .. } = self.setting.clone();
        Arc::new(IamTokens { gate: self.gate(), account, cluster })
    }

    /// Begins to serve.
    ///
    /// # Errors
    /// What the system says.
    pub(super) fn serve(
        self,
        owner: &Owner,
        signer: Arc<TokenSigner>,
        stopped: watch::Receiver<bool>,
    ) -> Result<(Server, Told), Failure> {
        let gate = self.gate();
        let Self { setting, listener, credentials } = self;
        let Credentials { access_key, secret_key } = credentials;
        let backend = AwsBackend { owner: owner.clone(), signer };
        let server = Server::begin(listener, gate, Box::new(backend), stopped);
        let server = server.context("cannot serve AWS").map_err(Failure::internal)?;
        let own = &setting.own;
        let region = setting.region.clone();
        let exports = [
            ("AWS_ENDPOINT_URL", own.as_str()),
            ("AWS_ACCESS_KEY_ID", &access_key),
            ("AWS_SECRET_ACCESS_KEY", &secret_key),
            ("AWS_REGION", &region),
            ("AWS_DEFAULT_REGION", &region),
        ];
        let exports = exports.map(|(name, value)| format!("export {name}={value}\n")).concat();
        let story = format!(
            "serving EKS, Auto Scaling, EC2, SQS, EventBridge, SSM, STS and Elastic Load Balancing on {own}"
        );
        Ok((server, Told { story, exports }))
    }
}
