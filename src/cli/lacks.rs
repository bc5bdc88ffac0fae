//! What stands beside the store, is in no backup of it, and is not here after a restore.

use std::path::Path;
use std::sync::Arc;

use muster_network::firmware;
use muster_store::StoreHandle;
use serde::Serialize;

use crate::app;
use crate::config::Config;

#[derive(Debug, Serialize)]
pub(super) struct Lacks {
    /// Artifacts whose image is not in `firmware/`: no job of theirs starts, and no device gets them.
    images: Vec<String>,
    /// There are none in `signing/`: every token that was given is void.
    signing_keys: bool,
}

impl Lacks {
    pub(super) fn of(config: &Config) -> Result<Self, String> {
        let data = &config.store.path;
        let store = app::open_store(config).map_err(|error| error.to_string())?;
        let handle: StoreHandle = Arc::clone(&store) as _;
        let lacking = firmware::lacking(&handle, &data.join("firmware")).map_err(|error| error.to_string());
        drop(handle);
        store.close();
        let images = lacking?.into_iter().map(|artifact| artifact.id).collect();
        Ok(Self { images, signing_keys: !data.join("signing").join("signing-keys.json").exists() })
    }

    pub(super) fn tell(&self, data: &Path) {
        if !self.images.is_empty() {
            println!(
                "{} firmware images are not here: copy firmware/ from where the backup was made into {}, or no job with \
                 them starts: {}",
                self.images.len(),
                data.display(),
                self.images.join(", ")
            );
        }
        if self.signing_keys {
            println!("signing/ is not here: the first start makes new keys, and everybody logs in again");
        }
    }
}
