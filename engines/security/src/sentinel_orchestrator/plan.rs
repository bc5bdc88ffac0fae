//! Which sentinels apply to a subject, in which wave, and what each is given.

use muster_engine::prelude::*;

/// Number of waves.
pub const WAVES: u8 = 3;

/// A sentinel.
#[derive(Debug, PartialEq, Eq)]
pub struct Sentinel {
    /// Number of its engine.
    pub number: u16,
    /// Id of its engine.
    pub id: &'static str,
    /// 1: life safety and credentials, 2: active attack, 3: hygiene.
    pub wave: u8,
    /// Sets of members of a subject of which one must be complete.
    needs: &'static [&'static [&'static str]],
    /// Members that it is given beside.
    takes: &'static [&'static str],
}

/// All sentinels, by wave.
pub static SENTINELS: [Sentinel; 14] = [
    Sentinel { number: 141, id: "sentinel-secrets", wave: 1, needs: &[&["text"]], takes: &["filename"] },
    Sentinel { number: 144, id: "sentinel-content-safety", wave: 1, needs: &[&["text"]], takes: &[] },
    Sentinel { number: 147, id: "sentinel-auth-abuse", wave: 1, needs: &[&["auth_events"]], takes: &[] },
    Sentinel { number: 153, id: "sentinel-agent-runaway", wave: 1, needs: &[&["agent_trace"]], takes: &[] },
    Sentinel { number: 154, id: "sentinel-sensor-fault", wave: 1, needs: &[&["telemetry", "limits"]], takes: &[] },
    Sentinel { number: 143, id: "sentinel-prompt-injection", wave: 2, needs: &[&["text"]], takes: &[] },
    Sentinel { number: 145, id: "sentinel-phishing", wave: 2, needs: &[&["url"], &["text"]], takes: &[] },
    Sentinel { number: 146, id: "sentinel-web-attack", wave: 2, needs: &[&["request"], &["line"]], takes: &[] },
    Sentinel { number: 148, id: "sentinel-flood", wave: 2, needs: &[&["traffic"]], takes: &[] },
    Sentinel { number: 149, id: "sentinel-exfiltration", wave: 2, needs: &[&["dns"], &["flows"]], takes: &[] },
    Sentinel { number: 152, id: "sentinel-integrity", wave: 2, needs: &[&["files", "manifest"]], takes: &[] },
    Sentinel { number: 142, id: "sentinel-pii", wave: 3, needs: &[&["text"]], takes: &[] },
    Sentinel { number: 150, id: "sentinel-supply-chain", wave: 3, needs: &[&["dependencies"]], takes: &["advisories"] },
    Sentinel { number: 151, id: "sentinel-misconfig", wave: 3, needs: &[&["config"]], takes: &[] },
];

/// Share of the deadline, in percent, after which the next wave begins although the wave has not ended.
const SHARES: [u32; WAVES as usize] = [50, 80, 100];

/// In which order the waves run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Words)]
#[wire(case = "kebab")]
pub enum Mode {
    /// One after another.
    Priority,
    /// All together.
    Parallel,
    /// One after another, and none after a critical verdict.
    FirstCritical,
}

impl Mode {
    /// Reads the word of a mode.
    pub fn of(word: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, known)| *known == word).map(|(mode, _)| *mode)
    }

    /// Share of the deadline, in percent, that has passed when a wave (1 to [`WAVES`]) gives way to the next.
    pub fn share(self, wave: u8) -> u32 {
        match self {
            Self::Parallel => 100,
            Self::Priority | Self::FirstCritical => {
                SHARES.get(usize::from(wave).saturating_sub(1)).copied().unwrap_or(100)
            }
        }
    }
}

/// A sentinel and its input; without one it does not apply.
#[derive(Debug)]
pub struct Planned {
    /// The sentinel.
    pub sentinel: &'static Sentinel,
    /// Input of its engine: its members of the subject only.
    pub input: Option<Value>,
}

/// Plans all sentinels of this build, in the order of their waves. `chosen` are the ids to which the plan is limited, with
/// or without `sentinel-`; empty for all.
///
/// # Errors
/// `Invalid` if a name in `chosen` is no sentinel's, and if no chosen sentinel applies to the subject.
pub fn plan(subject: &Map<String, Value>, chosen: &[String]) -> Result<Vec<Planned>, Failure> {
    let named = |sentinel: &Sentinel, name: &String| {
        sentinel.id == name.as_str() || sentinel.id.strip_prefix("sentinel-") == Some(name.as_str())
    };
    if let Some(at) = chosen.iter().position(|name| !SENTINELS.iter().any(|sentinel| named(sentinel, name))) {
        let ids: Vec<&str> = SENTINELS.iter().map(|sentinel| sentinel.id).collect();
        return Err(Failure::invalid(&["sentinels", &at.to_string()], format!("must be one of {}", ids.join(", "))));
    }
    let planned = |sentinel: &'static Sentinel| {
        let wanted = chosen.is_empty() || chosen.iter().any(|name| named(sentinel, name));
        let built = crate::FAMILY.has(sentinel.number);
        Planned { sentinel, input: sentinel.input(subject).filter(|_| wanted && built) }
    };
    let planned: Vec<Planned> = SENTINELS.iter().map(planned).collect();
    if planned.iter().all(|planned| planned.input.is_none()) {
        let message = "has nothing that a chosen sentinel reads, such as text, url, request or config";
        return Err(Failure::invalid(&["subject"], message));
    }
    Ok(planned)
}

impl Sentinel {
    /// Takes its members of the subject; `None` if what it needs is absent.
    fn input(&self, subject: &Map<String, Value>) -> Option<Value> {
        let complete: Vec<&&[&str]> =
            self.needs.iter().filter(|set| set.iter().all(|name| subject.contains_key(*name))).collect();
        if complete.is_empty() {
            return None;
        }
        let names = complete.into_iter().flat_map(|set| set.iter()).chain(self.takes);
        Some(Value::Object(names.filter_map(|name| Some(((*name).to_owned(), subject.get(*name)?.clone()))).collect()))
    }
}
