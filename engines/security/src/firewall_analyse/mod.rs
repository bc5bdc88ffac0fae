//! q137: firewall rule analysis.

mod boxes;
mod read;

use muster_engine::prelude::*;

use self::boxes::{Region, covers, subtract};
use self::read::{Rule, packet, rule};

/// Maximum number of rules, of packets and of boxes of all rules.
const MAX_RULES: usize = 1_000;
const MAX_PACKETS: usize = 10_000;
const MAX_BOXES: usize = 5_000;
/// Maximum number of pieces when a rule is cut by those before it.
const MAX_PIECES: usize = 20_000;
/// Maximum number of pairs that are listed.
const MAX_LISTED: usize = 10_000;

#[derive(Debug, Input)]
pub struct Input {
    rules: Vec<Written>,
    packets: Vec<Packet>,
    default: Action,
}

#[derive(Debug, Input)]
struct Written {
    id: String,
    action: Action,
    source: String,
    destination: String,
    protocol: String,
    ports: String,
}

#[derive(Debug, Input)]
struct Packet {
    source: String,
    destination: String,
    protocol: String,
    port: i64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Words)]
enum Action {
    Allow,
    Deny,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Words)]
#[wire(case = "kebab")]
enum Kind {
    Shadowed,
    Redundant,
    Correlated,
    Generalised,
    AnyAny,
}

#[derive(Debug, Output)]
pub struct Output {
    anomalies: Vec<Anomaly>,
    decisions: Vec<Decision>,
    risk: Vec<Risk>,
}

#[derive(Debug, Output)]
struct Anomaly {
    rule: String,
    kind: Kind,
    by: Vec<String>,
}

#[derive(Debug, Output)]
struct Decision {
    packet: usize,
    action: &'static str,
    rule: String,
}

#[derive(Debug, Output)]
struct Risk {
    rule: String,
    message: String,
}

pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    if input.rules.len() > MAX_RULES || input.packets.len() > MAX_PACKETS {
        return Err(Failure::too_large(format!("at most {MAX_RULES} rules and {MAX_PACKETS} packets are allowed")));
    }
    let mut rules = Vec::with_capacity(input.rules.len());
    for (at, written) in input.rules.iter().enumerate() {
        let read = rule(written).map_err(|(field, why)| Failure::invalid(&["rules", &at.to_string(), field], why))?;
        if rules.iter().any(|rule: &Rule| rule.id == read.id) {
            return Err(Failure::invalid(&["rules", &at.to_string(), "id"], "is that of another rule"));
        }
        rules.push(read);
    }
    if rules.iter().map(|rule| rule.regions.len()).sum::<usize>() > MAX_BOXES {
        return Err(Failure::too_large(format!(
            "the lists of all rules may give {MAX_BOXES} combinations: analyse parts of the rule set"
        )));
    }
    let mut anomalies = Vec::new();
    for (at, rule) in rules.iter().enumerate() {
        let before = rules.get(..at).unwrap_or_default();
        anomalies.extend(hidden(rule, before, cx));
        anomalies.extend(overlapping(rule, before));
        anomalies.extend(superfluous(rule, rules.get(at + 1..).unwrap_or_default()));
        if rule.action == Action::Allow && rule.is_everything() {
            anomalies.push(Anomaly { rule: rule.id.clone(), kind: Kind::AnyAny, by: Vec::new() });
        }
        if anomalies.len() > MAX_LISTED {
            cx.warn(format!("truncated: more than {MAX_LISTED} anomalies"));
            anomalies.truncate(MAX_LISTED);
            break;
        }
    }
    let mut decisions = Vec::with_capacity(input.packets.len());
    for (at, written) in input.packets.iter().enumerate() {
        let region =
            packet(written).map_err(|(field, why)| Failure::invalid(&["packets", &at.to_string(), field], why))?;
        let first = rules.iter().find(|rule| covers(&rule.regions, &region));
        let (action, rule) = first.map_or((input.default, "default".to_owned()), |rule| (rule.action, rule.id.clone()));
        decisions.push(Decision { packet: at, action: action.word(), rule });
    }
    cx.assume("the first rule that matches decides");
    let risk = rules
        .iter()
        .flat_map(|rule| rule.risks().into_iter().map(|message| Risk { rule: rule.id.clone(), message }))
        .collect();
    Ok(Output { anomalies, decisions, risk })
}

/// A rule that no packet reaches, because rules before it take all of its packets: one of them, or several together.
/// Redundant if all of those decide as it does.
fn hidden(rule: &Rule, before: &[Rule], cx: &Context) -> Option<Anomaly> {
    let found = |by: Vec<&Rule>| {
        let kind = if by.iter().all(|other| other.action == rule.action) { Kind::Redundant } else { Kind::Shadowed };
        Some(Anomaly { rule: rule.id.clone(), kind, by: by.into_iter().map(|other| other.id.clone()).collect() })
    };
    if let Some(whole) = before.iter().find(|other| rule.regions.iter().all(|region| covers(&other.regions, region))) {
        return found(vec![whole]);
    }
    let (mut left, mut by) = (rule.regions.clone(), Vec::new());
    for other in before {
        let size = left.len();
        let mut next: Vec<Region> = Vec::new();
        let mut cut = false;
        for piece in &left {
            let mut pieces = vec![*piece];
            for region in &other.regions {
                if pieces.iter().any(|piece| piece.overlap(region)) {
                    cut = true;
                    pieces = pieces.iter().flat_map(|piece| subtract(piece, region)).collect();
                }
            }
            next.extend(pieces);
            if next.len() > MAX_PIECES {
                cx.warn(format!("unproven: whether rule {} is reached by any packet was not decided", rule.id));
                return None;
            }
        }
        if cut {
            by.push(other);
        }
        left = next;
        if left.is_empty() && size > 0 {
            return found(by);
        }
    }
    None
}

/// Earlier rules of the other action that overlap in part (correlated) or lie within it (generalised).
fn overlapping(rule: &Rule, before: &[Rule]) -> Vec<Anomaly> {
    let (mut correlated, mut generalised) = (Vec::new(), Vec::new());
    for other in before.iter().filter(|other| other.action != rule.action) {
        let meets = rule.regions.iter().any(|region| other.regions.iter().any(|with| region.overlap(with)));
        if !meets || rule.regions.iter().all(|region| covers(&other.regions, region)) {
            continue;
        }
        let within = other.regions.iter().all(|region| covers(&rule.regions, region));
        if within { &mut generalised } else { &mut correlated }.push(other.id.clone());
    }
    let lists = [(Kind::Correlated, correlated), (Kind::Generalised, generalised)];
    lists
        .into_iter()
        .filter(|(_, by)| !by.is_empty())
        .map(|(kind, by)| Anomaly { rule: rule.id.clone(), kind, by })
        .collect()
}

/// A rule whose packets a later one decides in the same way, with no rule of the other action for them between.
fn superfluous(rule: &Rule, after: &[Rule]) -> Option<Anomaly> {
    for other in after {
        let meets = rule.regions.iter().any(|region| other.regions.iter().any(|with| region.overlap(with)));
        if meets && other.action != rule.action {
            return None;
        }
        let within = rule.regions.iter().all(|region| covers(&other.regions, region));
        if meets && within {
            return Some(Anomaly { rule: rule.id.clone(), kind: Kind::Redundant, by: vec![other.id.clone()] });
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn written(id: usize, allow: bool, low: u8, width: u8, ports: (u16, u16)) -> Written {
        let prefix = 24 + width % 9;
        Written {
            id: id.to_string(),
            action: if allow { Action::Allow } else { Action::Deny },
            source: format!("10.0.0.{low}/{prefix}"),
            destination: "any".to_owned(),
            protocol: "tcp".to_owned(),
            ports: format!("{}-{}", ports.0.min(ports.1), ports.0.max(ports.1)),
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        /// A rule that is called hidden decides no packet of a sample, and the sample covers all combinations of this
        /// small space.
        #[test]
        fn hidden_rules_decide_nothing_and_others_something(
            parts in proptest::collection::vec((any::<bool>(), any::<u8>(), any::<u8>(), 0_u16..6, 0_u16..6), 1..7),
        ) {
            let rules: Vec<Written> = parts.iter().enumerate().map(|(at, (allow, low, width, from, to))| written(at, *allow, *low, *width, (*from, *to))).collect();
            let mut packets = Vec::new();
            for host in 0..=255_u8 {
                for port in 0..6 {
                    packets.push(Packet { source: format!("10.0.0.{host}"), destination: "1.2.3.4".to_owned(), protocol: "tcp".to_owned(), port });
                }
            }
            let output = run(Input { rules, packets, default: Action::Deny }, &Context::default()).unwrap();
            for at in 0..parts.len() {
                let id = at.to_string();
                let decides = output.decisions.iter().any(|decision| decision.rule == id);
                let before = |by: &[String]| by.iter().all(|other| other.parse::<usize>().unwrap() < at);
                let hidden = output.anomalies.iter().any(|anomaly| anomaly.rule == id && matches!(anomaly.kind, Kind::Shadowed | Kind::Redundant) && before(&anomaly.by));
                prop_assert_eq!(hidden, !decides, "rule {} of {:?}: {:?}", at, parts, output.anomalies);
            }
        }
    }
}
