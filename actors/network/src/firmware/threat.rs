//! Reasons for which firmware is rejected: stable codes and the threats of RFC 9124 (section 4.2) that they answer.

use serde::{Deserialize, Serialize};

use muster_core::{Error, Kind};

/// Reason for which an image, a manifest or a pair of image and device is rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Threat {
    /// The manifest is not signed by a trusted key, differs from the record, or does not match the content.
    ImageNotAuthentic,
    /// The content was replaced after its verification.
    ImageReplaced,
    /// The sequence is not above the one that the device runs.
    ImageOutdated,
    /// The manifest has expired.
    ManifestExpired,
    /// Vendor, class or revision of the hardware does not match.
    ImageIncompatible,
    /// The payload format is unknown.
    ImageFormat,
    /// The device runs a version too old to be updated directly.
    WrongPrecursor,
    /// The key that signed it is revoked.
    SigningKeyRevoked,
    /// The artifact was revoked.
    ArtifactRevoked,
}

impl Threat {
    pub const ALL: [Self; 9] = [
        Self::ImageNotAuthentic,
        Self::ImageReplaced,
        Self::ImageOutdated,
        Self::ManifestExpired,
        Self::ImageIncompatible,
        Self::ImageFormat,
        Self::WrongPrecursor,
        Self::SigningKeyRevoked,
        Self::ArtifactRevoked,
    ];

    /// Returns the code of rejections and of failed executions.
    pub const fn code(self) -> &'static str {
        match self {
            Self::ImageNotAuthentic => "image_not_authentic",
            Self::ImageReplaced => "image_replaced",
            Self::ImageOutdated => "image_outdated",
            Self::ManifestExpired => "manifest_expired",
            Self::ImageIncompatible => "image_incompatible",
            Self::ImageFormat => "image_format",
            Self::WrongPrecursor => "wrong_precursor",
            Self::SigningKeyRevoked => "signing_key_revoked",
            Self::ArtifactRevoked => "artifact_revoked",
        }
    }

    /// Returns the name of the threat in RFC 9124.
    pub const fn rfc9124(self) -> &'static str {
        match self {
            Self::ImageNotAuthentic => "THREAT.IMG.NON_AUTH",
            Self::ImageReplaced => "THREAT.IMG.REPLACE",
            Self::ImageOutdated | Self::ArtifactRevoked => "THREAT.IMG.EXPIRED",
            Self::ManifestExpired => "THREAT.IMG.EXPIRED.OFFLINE",
            Self::ImageIncompatible => "THREAT.IMG.INCOMPATIBLE",
            Self::ImageFormat => "THREAT.IMG.FORMAT",
            Self::WrongPrecursor => "THREAT.UPD.WRONG_PRECURSOR",
            Self::SigningKeyRevoked => "THREAT.KEY.EXPOSURE",
        }
    }

    /// Returns the error that rejects a request.
    pub fn refusal(self, message: impl Into<String>) -> Error {
        let details = serde_json::json!({ "threat": self.rfc9124() });
        Error::new(Kind::Conflict, message).coded(self.code()).detailing(details)
    }
}
