//! Compatibility of an image with a device: hardware and protection against rollback.

use crate::device::{RolloutTarget, Status};
use crate::firmware::artifact::Manifest;
use crate::firmware::job::JobKind;
use crate::firmware::threat::Threat;

/// Compatibility of an image with a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fit {
    Fits,
    /// The device runs it already.
    Installed,
    Unfit(Threat, String),
    /// The device cannot take part in a rollout: code and reason.
    Gone(&'static str, String),
}

/// Checks an image against a device. `manifest` is `None` if nothing is installed.
pub fn fit(kind: JobKind, manifest: Option<&Manifest>, device: &RolloutTarget) -> Fit {
    match device.status {
        Status::Retired => return Fit::Gone("device_retired", "the device is retired".to_owned()),
        Status::Quarantined => return Fit::Gone("device_quarantined", "the device is quarantined".to_owned()),
        _ => {}
    }
    let Some(manifest) = manifest else { return Fit::Fits };
    if let Some(why) = mismatch(manifest, device) {
        return Fit::Unfit(Threat::ImageIncompatible, why);
    }
    if !kind.changes_firmware() {
        return Fit::Fits;
    }
    let current = device.firmware.current.as_ref();
    if current.is_some_and(|current| current.sequence == manifest.sequence && current.version == manifest.version) {
        return Fit::Installed;
    }
    let runs = current.map_or(0, |current| current.sequence);
    if kind == JobKind::Update && current.is_some() && manifest.sequence <= runs {
        let why = format!("sequence {} is not above the device's {runs}: use kind `downgrade`", manifest.sequence);
        return Fit::Unfit(Threat::ImageOutdated, why);
    }
    match manifest.min_current_sequence {
        Some(least) if runs < least => {
            let why = format!("the device runs sequence {runs}, and {least} is needed first");
            Fit::Unfit(Threat::WrongPrecursor, why)
        }
        _ => Fit::Fits,
    }
}

/// Returns why the hardware does not match. A device of unknown class matches nothing; an unknown vendor or revision is
/// accepted only if the manifest does not restrict it.
fn mismatch(manifest: &Manifest, device: &RolloutTarget) -> Option<String> {
    if device.hw_class.as_deref() != Some(&manifest.hw_class) {
        let has = device.hw_class.as_deref().unwrap_or("unknown");
        return Some(format!("the image is for hw_class `{}`, the device is `{has}`", manifest.hw_class));
    }
    if let Some(vendor) = device.vendor.as_deref().filter(|vendor| *vendor != manifest.vendor) {
        return Some(format!("the image is for devices of `{}`, the device is by `{vendor}`", manifest.vendor));
    }
    let revision = device.hw_revision.as_deref().unwrap_or("unknown");
    let narrowed = !manifest.hw_revisions.is_empty() && !manifest.hw_revisions.iter().any(|known| known == revision);
    narrowed.then(|| format!("the image is for revisions {:?}, the device is `{revision}`", manifest.hw_revisions))
}
