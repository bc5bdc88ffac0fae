//! q182: CAP 1.2 alerts: build and check.

mod areas;
mod build;
mod profile;
mod record;
#[cfg(test)]
mod tests;

use muster_cap::{Alert, CapError, MsgType, Status};

use muster_engine::prelude::*;

#[derive(Input)]
pub struct Input {
    xml: Option<String>,
    alert: Option<Value>,
    profile: Profile,
}

#[derive(Clone, Copy, PartialEq, Words)]
#[wire(case = "lower")]
enum Profile {
    Cap12,
    Ipaws,
    Edxl,
}

#[derive(Output)]
pub struct Output {
    valid: bool,
    problems: Vec<Trouble>,
    alert: Value,
    xml: String,
    active: bool,
    areas: Value,
}

#[derive(Output)]
struct Trouble {
    path: String,
    message: String,
}

pub fn run(input: Input, context: &Context) -> Result<Output, Failure> {
    let xml = match (input.xml, input.alert) {
        (Some(xml), None) => xml,
        (None, Some(alert)) => match build::xml(&alert)? {
            Ok(xml) => xml,
            Err(problems) => return Ok(invalid(problems)),
        },
        _ => {
            let message = "send either xml, an alert to check, or alert, the members of one to build";
            return Err(Failure::invalid(&["xml"], message));
        }
    };
    if xml.len() > muster_cap::MAX_BYTES {
        return Err(Failure::too_large(format!("xml is larger than {} bytes", muster_cap::MAX_BYTES)));
    }
    let document = match input.profile {
        Profile::Edxl => embedded(&xml).unwrap_or(&xml),
        Profile::Cap12 | Profile::Ipaws => &xml,
    };
    let alert = match muster_cap::parse(document.as_bytes()) {
        Ok(alert) => alert,
        Err(CapError { place, why }) => {
            context.warn("first_problem: the document is checked up to its first violation of the standard");
            return Ok(invalid(vec![Trouble { path: place, message: why }]));
        }
    };
    let mut problems = profile::check(&alert);
    if input.profile == Profile::Ipaws {
        problems.extend(profile::ipaws(&alert));
    }
    context.assume("an alert is `active` as of the time at which it was sent: an engine has no clock");
    Ok(Output {
        valid: problems.is_empty(),
        problems,
        active: active(&alert),
        areas: areas::collection(&alert),
        xml: alert.to_xml().map_err(Failure::internal)?,
        alert: record::of(&alert),
    })
}

fn invalid(problems: Vec<Trouble>) -> Output {
    Output { valid: false, problems, alert: Value::Null, xml: String::new(), active: false, areas: areas::none() }
}

/// The alert within an EDXL-DE message, which embeds it as an element with its own namespace.
fn embedded(xml: &str) -> Option<&str> {
    let start = xml.find("<alert")?;
    let end = start + xml.get(start..)?.rfind("</alert>")? + "</alert>".len();
    xml.get(start..end)
}

/// Whether the message asks for action at the time it was sent: a real alert or update, one of whose infos has not
/// expired.
fn active(alert: &Alert) -> bool {
    let sent = alert.sent.millis();
    alert.status == Status::Actual
        && matches!(alert.msg_type, MsgType::Alert | MsgType::Update)
        && (alert.infos.is_empty()
            || alert.infos.iter().any(|info| info.expires.as_ref().is_none_or(|end| end.millis() > sent)))
}
