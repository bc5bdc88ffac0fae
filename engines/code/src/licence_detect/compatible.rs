//! Licence compatibility and obligations, by the FSF's "Various Licenses and Comments about Them" and the matrix of its
//! GPL FAQ ("How are the various GNU licenses compatible with each other?").

use std::collections::BTreeSet;

use spdx::{Expression, LicenseItem, LicenseReq};

use super::expression;
use muster_engine::Failure;

/// Copyleft strength of a licence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// No condition that another licence forbids.
    Permissive,
    /// Permissive, but with a condition that the GPL treats as a further restriction; Apache's only for version 2.
    Restrictive,
    Apache,
    /// Copyleft per file; the GNU variant may be used within GNU licences.
    FileCopyleft,
    FileCopyleftGnu,
    /// Copyleft per library: 2 or 2.1, 3.
    Lgpl(u8),
    /// Copyleft for the whole work: the version, and whether later ones may be chosen.
    Gpl(u8, Later),
    Agpl,
    /// Use or users are restricted.
    Closed,
    Unknown,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Later {
    Allowed,
    Not,
}

const PERMISSIVE: [&str; 24] = [
    "0BSD",
    "BlueOak-1.0.0",
    "BSD-1-Clause",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSD-3-Clause-Clear",
    "BSL-1.0",
    "CC-BY-4.0",
    "CC0-1.0",
    "HPND",
    "ISC",
    "Artistic-2.0",
    "MIT",
    "MIT-0",
    "NCSA",
    "PostgreSQL",
    "PSF-2.0",
    "Python-2.0",
    "Unicode-3.0",
    "Unicode-DFS-2016",
    "Unlicense",
    "WTFPL",
    "X11",
    "Zlib",
];
const RESTRICTIVE: [&str; 7] =
    ["Apache-1.0", "Apache-1.1", "BSD-4-Clause", "BSD-4-Clause-UC", "OpenSSL", "PHP-3.01", "Zend-2.0"];
const FILE_COPYLEFT: [&str; 9] = [
    "CDDL-1.0",
    "CDDL-1.1",
    "CPL-1.0",
    "EPL-1.0",
    "EPL-2.0",
    "MPL-1.0",
    "MPL-1.1",
    "MS-PL",
    "MPL-2.0-no-copyleft-exception",
];
const CLOSED: [&str; 5] = ["BUSL-1.1", "Elastic-2.0", "SSPL-1.0", "JSON", "PolyForm-Noncommercial-1.0.0"];
/// Exceptions that allow the whole work to have any licence.
const LINKING: [&str; 8] = [
    "Classpath-exception-2.0",
    "GCC-exception-3.1",
    "GCC-exception-2.0",
    "LLVM-exception",
    "OpenJDK-assembly-exception-1.0",
    "Bison-exception-2.2",
    "Autoconf-exception-3.0",
    "GPL-3.0-linking-exception",
];

fn kind(requirement: &LicenseReq) -> Kind {
    let LicenseItem::Spdx { id, or_later } = &requirement.license else { return Kind::Unknown };
    let name = id.name;
    let later = if *or_later || name.ends_with("-or-later") { Later::Allowed } else { Later::Not };
    let version = if name.contains("-3") { 3 } else { 2 };
    let excepted =
        requirement.addition.as_ref().is_some_and(|addition| LINKING.contains(&addition.to_string().as_str()));
    match name {
        _ if PERMISSIVE.contains(&name) => Kind::Permissive,
        _ if RESTRICTIVE.contains(&name) => Kind::Restrictive,
        _ if FILE_COPYLEFT.contains(&name) => Kind::FileCopyleft,
        _ if CLOSED.contains(&name) || name.contains("-NC-") || name.contains("-ND-") => Kind::Closed,
        "Apache-2.0" => Kind::Apache,
        "MPL-2.0" => Kind::FileCopyleftGnu,
        _ if name.starts_with("AGPL-3") => Kind::Agpl,
        // With an exception it is at most as strong as the LGPL.
        _ if name.starts_with("GPL-") && excepted => Kind::FileCopyleftGnu,
        // Version 2 without "or later" may be used as the GPL 2 or any later (section 3 of the LGPL 2.1).
        _ if name.starts_with("LGPL-") => Kind::Lgpl(if later == Later::Allowed { 2 } else { version }),
        _ if name.starts_with("GPL-") => Kind::Gpl(version, later),
        _ => Kind::Unknown,
    }
}

/// The licence of a project.
pub(super) struct Project {
    licences: Vec<(String, Kind)>,
}

impl Project {
    /// Parses a project licence; `proprietary` and any `LicenseRef-` mean a licence without shared source.
    ///
    /// # Errors
    /// `Invalid` if it is not a licence expression.
    pub(super) fn parse(text: &str) -> Result<Self, Failure> {
        if matches!(text.to_lowercase().as_str(), "proprietary" | "unlicensed" | "commercial") {
            return Ok(Self { licences: vec![(text.to_owned(), Kind::Closed)] });
        }
        let parsed = expression::parse(text).map_err(|error| {
            let message =
                format!("is no SPDX licence expression: {error}. Write such as MIT OR Apache-2.0, or proprietary");
            Failure::invalid(&["project_licence"], message)
        })?;
        let licences = parsed.requirements().map(|requirement| {
            let kind = match kind(&requirement.req) {
                Kind::Unknown => Kind::Closed,
                kind => kind,
            };
            (requirement.req.to_string(), kind)
        });
        Ok(Self { licences: licences.collect() })
    }

    /// Returns why a component may not be used in the project; `None` if one of its alternatives is allowed.
    pub(super) fn conflict(&self, component: &Expression) -> Option<String> {
        let mut reason = None;
        let fits = component.evaluate(|requirement| {
            let found = self.licences.iter().find_map(|(name, project)| clash(requirement, *project, name));
            let fits = found.is_none();
            if reason.is_none() {
                reason = found;
            }
            fits
        });
        if fits { None } else { reason }
    }
}

fn clash(requirement: &LicenseReq, project: Kind, name: &str) -> Option<String> {
    let component = kind(requirement);
    let gnu = matches!(project, Kind::Gpl(..) | Kind::Agpl | Kind::Lgpl(_));
    let old = matches!(project, Kind::Gpl(2, Later::Not));
    if requirement.to_string() == name {
        return None;
    }
    let why = match component {
        Kind::Permissive | Kind::FileCopyleftGnu => return None,
        Kind::Apache if old => "its patent terms are a further restriction for version 2 of the GPL",
        Kind::Restrictive | Kind::FileCopyleft if gnu => "its conditions are further restrictions for the GPL",
        Kind::Lgpl(3) if old => "version 3 of the LGPL cannot be combined with version 2 of the GPL alone",
        Kind::Apache | Kind::Restrictive | Kind::FileCopyleft | Kind::Lgpl(_) => return None,
        Kind::Gpl(3, _) if old => "version 3 of the GPL cannot be combined with version 2 alone",
        Kind::Gpl(2, Later::Not) if matches!(project, Kind::Gpl(3, _) | Kind::Agpl | Kind::Lgpl(3)) => {
            "version 2 of the GPL alone cannot be combined with version 3"
        }
        Kind::Gpl(..) if matches!(project, Kind::Gpl(..) | Kind::Agpl) => return None,
        Kind::Gpl(..) => "the whole would have to be under the GPL",
        Kind::Agpl if matches!(project, Kind::Agpl | Kind::Gpl(3, _) | Kind::Gpl(2, Later::Allowed)) => return None,
        Kind::Agpl => "the whole would have to be under the AGPL, and its source offered to users over a network",
        Kind::Closed => "it does not allow every use, or requires more than a project may pass on",
        Kind::Unknown => "its conditions are not known: have a person read it",
    };
    Some(format!("{requirement} in {name}: {why}"))
}

/// Returns the obligations of distributors, by licence.
pub(super) fn obligations(expression: &Expression) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    for requirement in expression.requirements() {
        let requirement = &requirement.req;
        let name = requirement.license.id().map(|id| id.name).unwrap_or_default();
        let mut add = |what: &str| all.insert(format!("{requirement}: {what}"));
        if !matches!(name, "0BSD" | "CC0-1.0" | "MIT-0" | "Unlicense" | "WTFPL" | "") {
            add("keep the copyright notice and the licence's text");
        }
        match kind(requirement) {
            Kind::Apache => {
                add("pass on the NOTICE file");
                add("mark the files that were changed");
            }
            Kind::FileCopyleft | Kind::FileCopyleftGnu => {
                add("offer the source of its own files, changes included, under the same licence");
            }
            Kind::Lgpl(_) => {
                add("offer the source of the library, changes included, under the same licence");
                add("let users replace the library and relink");
            }
            Kind::Gpl(..) => drop(add("offer the source of the whole under the same licence")),
            Kind::Agpl => {
                add("offer the source of the whole under the same licence");
                add("offer the source to those who use it over a network");
            }
            Kind::Restrictive if name.starts_with("BSD-4") => drop(add("name its authors in advertising material")),
            Kind::Permissive if matches!(name, "BSD-3-Clause" | "BSD-3-Clause-Clear") => {
                add("do not advertise with the names of its authors");
            }
            Kind::Unknown => drop(add("read its conditions")),
            Kind::Permissive | Kind::Restrictive | Kind::Closed => {}
        }
    }
    all
}
