//! A release taken apart so that a part of it can be changed: everything else is put back byte for byte.

use std::collections::BTreeMap;
use std::io::{Read, Write};

use flate2::Compression;
use flate2::write::GzEncoder;
use serde::Deserialize;
use serde_json::value::RawValue;

use replank_intake::base64::encode;

use super::open::{Opened, open};
use super::release::ReleaseError;

/// What Helm 3 keeps of a release, and how it was packed.
pub(crate) struct Packed {
    /// Whether base64 stands around base64: the encoding of a Secret.
    is_twice: bool,
    is_gzip: bool,
    members: BTreeMap<String, Box<RawValue>>,
}

/// Packs what is as large as etcd's bound allows: helm does the same (pkg/storage/driver/util.go).
const COMPRESSION: Compression = Compression::best();

impl Packed {
    pub(crate) fn unpack(data: &str) -> Result<Self, ReleaseError> {
        let Opened { is_twice, is_gzip, bytes: mut reader } = open(data)?;
        // The members are kept as they are written, which a reader cannot lend.
        let mut bytes = Vec::new();
        reader.read_to_end(&mut bytes)?;
        Ok(Self { is_twice, is_gzip, members: serde_json::from_slice(&bytes)? })
    }

    pub(crate) fn pack(&self) -> Result<String, ReleaseError> {
        let mut bytes = serde_json::to_vec(&self.members)?;
        if self.is_gzip {
            let mut encoder = GzEncoder::new(Vec::new(), COMPRESSION);
            encoder.write_all(&bytes)?;
            bytes = encoder.finish()?;
        }
        let once = encode(&bytes);
        Ok(if self.is_twice { encode(once.as_bytes()) } else { once })
    }

    /// The manifest, and that of each hook.
    pub(crate) fn manifests(&self) -> Result<Vec<String>, ReleaseError> {
        let mut all = vec![match self.members.get("manifest") {
            Some(manifest) => serde_json::from_str(manifest.get())?,
            None => String::new(),
        }];
        for hook in self.hooks()? {
            all.push(match hook.get("manifest") {
                Some(manifest) => serde_json::from_str(manifest.get())?,
                None => String::new(),
            });
        }
        Ok(all)
    }

    /// Puts other manifests in their places, in the same order.
    pub(crate) fn set_manifests(&mut self, manifests: &[String]) -> Result<(), ReleaseError> {
        let raw = |text: &String| serde_json::value::to_raw_value(text);
        let Some((manifest, of_hooks)) = manifests.split_first() else { return Ok(()) };
        if self.members.contains_key("manifest") {
            self.members.insert("manifest".to_owned(), raw(manifest)?);
        }
        let mut hooks = self.hooks()?;
        for (hook, manifest) in hooks.iter_mut().zip(of_hooks) {
            if hook.contains_key("manifest") {
                hook.insert("manifest".to_owned(), raw(manifest)?);
            }
        }
        if !hooks.is_empty() {
            self.members.insert("hooks".to_owned(), serde_json::value::to_raw_value(&hooks)?);
        }
        Ok(())
    }

    fn hooks(&self) -> Result<Vec<BTreeMap<String, Box<RawValue>>>, ReleaseError> {
        match self.members.get("hooks") {
            Some(hooks) if hooks.get() != "null" => {
                Ok(Vec::deserialize(&mut serde_json::Deserializer::from_str(hooks.get()))?)
            }
            Some(_) | None => Ok(Vec::new()),
        }
    }
}
