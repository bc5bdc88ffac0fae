//! The verbs of an incident: the routes of the actions that the state machine has.

use actix_web::{HttpRequest, HttpResponse, web};
use muster_network::incident::Action;

use super::response::{ChangedIncident, changed};
use super::verb_requests::{
    AcknowledgeBody, ActivateBody, AssignBody, DuplicateBody, EndBody, EscalateBody, ReopenBody, ResolveBody,
    SilenceBody, StepBody, TriageBody, VerbRequest,
};
use crate::app::App;
use crate::envelope::Data;
use crate::error::HttpError;
use crate::error::sets::{Disaster, NotFound, VersionErrors, WriteErrors};
use crate::guard::{IncidentsWrite, Sent, by_of};
use crate::parameters;

/// Requests a transition at the version in `If-Match`.
async fn make<T: VerbRequest>(
    request: Sent<IncidentsWrite, T>,
    action: Action,
    id: String,
    http: &HttpRequest,
    app: &App,
) -> Result<HttpResponse, HttpError> {
    let (by, if_match) = (by_of(http)?, parameters::if_match(http)?);
    let (transition, dry_run) = request.body.into_transition(action);
    changed(&if dry_run {
        app.incidents.try_transition(by, id, if_match, transition).await?
    } else {
        app.incidents.transition(by, id, if_match, transition).await?
    })
}

/// Defines the handler of each verb: its documentation, name, body, action, path and operation.
macro_rules! verbs {
    ($($(#[$($doc:tt)*])+ $verb:ident($body:ident) = $action:ident, $path:tt, $operation:tt;)+) => {$(
        $(#[$($doc)*])+
        ///
        /// A verb that the state does not allow is rejected with 409; `details.allowed` lists the allowed ones.
        #[utoipa::path(post, path = $path, tag = "incidents", operation_id = $operation,
            params(("id" = String, Path), ("If-Match" = String, Header, description = "The version that was read, or *")),
            request_body = $body,
            responses((status = 200, description = "The changed incident", body = Data<ChangedIncident>),
                WriteErrors<Disaster>, VersionErrors<Disaster>, NotFound<Disaster>))]
        pub async fn $verb(
            request: Sent<IncidentsWrite, $body>,
            id: web::Path<String>,
            http: HttpRequest,
            app: web::Data<App>,
        ) -> Result<HttpResponse, HttpError> {
            make(request, Action::$action, id.into_inner(), &http, &app).await
        }
    )+};
}

verbs! {
    /// Triage an incident
    ///
    /// Moves a reported incident to triaged. Severity, urgency and certainty must be set, by this request or before. A
    /// responder can only act on incidents assigned to the responder.
    triage(TriageBody) = Triage, "/api/v1/incidents/{id}/triage", "triage_incident";

    /// Acknowledge an incident
    ///
    /// Moves a reported or triaged incident to acknowledged. If it is not activated within 30 minutes, it returns to
    /// triaged.
    acknowledge(AcknowledgeBody) = Acknowledge, "/api/v1/incidents/{id}/acknowledge", "acknowledge_incident";

    /// Activate an incident
    ///
    /// Moves a triaged or acknowledged incident to active. A commander must be set, by this request or before.
    activate(ActivateBody) = Activate, "/api/v1/incidents/{id}/activate", "activate_incident";

    /// Mark an incident as contained
    ///
    /// Moves an active incident to contained.
    contain(StepBody) = Contain, "/api/v1/incidents/{id}/contain", "contain_incident";

    /// Escalate or de-escalate an incident
    ///
    /// Changes the ICS type of an active incident by one, up or down.
    escalate(EscalateBody) = Escalate, "/api/v1/incidents/{id}/escalate", "escalate_incident";

    /// De-escalate an incident
    ///
    /// Changes the ICS type of an active incident by one towards 5.
    de_escalate(StepBody) = DeEscalate, "/api/v1/incidents/{id}/de-escalate", "de_escalate_incident";

    /// Resolve an incident
    ///
    /// Moves an active or contained incident to resolved. Every resource must be released, or a note must state what
    /// becomes of it.
    ///
    /// If an alert is published for the incident, an all-clear follows: a CAP Update with the urgency Past and the
    /// response type AllClear. It is published at once only by a caller with the permission `alerts:publish`, and only
    /// if no message of the alert was public and Severe or Extreme. Otherwise the alert stands, and the all-clear waits
    /// to be confirmed by `POST /api/v1/alerts/{id}/confirm`; `pending_alert` of the response is that message.
    resolve(ResolveBody) = Resolve, "/api/v1/incidents/{id}/resolve", "resolve_incident";

    /// Close an incident
    ///
    /// Moves a resolved incident to closed: with the permission `incidents:close` at once, otherwise after 24 hours. A
    /// closed incident accepts notes only.
    close(AcknowledgeBody) = Close, "/api/v1/incidents/{id}/close", "close_incident";

    /// Reopen an incident
    ///
    /// Moves an incident that is resolved, or was closed within the last 30 days, to active. An all-clear that waits is
    /// withdrawn: the alert stands.
    reopen(ReopenBody) = Reopen, "/api/v1/incidents/{id}/reopen", "reopen_incident";

    /// Mark an incident as a duplicate
    ///
    /// Marks an open incident as a duplicate of another open incident.
    ///
    /// If an alert is published for the incident, a CAP Cancel follows, published or waiting as the all-clear of
    /// `resolve`.
    duplicate(DuplicateBody) = MarkDuplicate, "/api/v1/incidents/{id}/duplicate", "mark_incident_duplicate";

    /// Mark an incident as a false alarm
    ///
    /// Marks an open incident as a false alarm: it was reported but did not happen.
    ///
    /// If an alert is published for the incident, a CAP Cancel follows, published or waiting as the all-clear of
    /// `resolve`.
    false_alarm(EndBody) = FalseAlarm, "/api/v1/incidents/{id}/false-alarm", "mark_incident_false_alarm";

    /// Cancel an incident
    ///
    /// Cancels an open incident.
    ///
    /// If an alert is published for the incident, a CAP Cancel follows, published or waiting as the all-clear of
    /// `resolve`.
    cancel(EndBody) = Cancel, "/api/v1/incidents/{id}/cancel", "cancel_incident";

    /// Silence an incident
    ///
    /// Silences an open incident until a time: its events are not urgent until then. The state of the incident does not
    /// change.
    silence(SilenceBody) = Silence, "/api/v1/incidents/{id}/silence", "silence_incident";

    /// Assign an incident
    ///
    /// Sets the assignees and the commander of an open incident. Responders cannot assign.
    assign(AssignBody) = Assign, "/api/v1/incidents/{id}/assign", "assign_incident";
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use actix_web::http::Method;
    use muster_network::alert::AlertAction;

    use super::*;
    use crate::http::operations;
    use crate::route::{Description, Operation};

    /// Returns the verbs below a path, each with the text that names the permission.
    fn verbs_below(prefix: &str) -> Vec<(String, String)> {
        let all = operations().iter().filter(|operation| operation.method == Method::POST);
        let text = |operation: &Operation| match &operation.description {
            Description::One(_, described) => described.description.clone().unwrap_or_default(),
            Description::Many(_) => String::new(),
        };
        let verb = |operation: &Operation| {
            let verb = operation.pattern.strip_prefix(prefix)?.to_owned();
            Some((verb, text(operation)))
        };
        all.filter_map(verb).collect()
    }

    #[test]
    fn the_verbs_of_the_state_machine_are_the_routes_with_their_permissions() {
        let routes = verbs_below("/api/v1/incidents/{id}/");
        let named: BTreeSet<&str> = routes.iter().map(|(verb, _)| verb.as_str()).collect();
        let actions: BTreeSet<&str> =
            Action::ALL.iter().filter(|action| action.is_verb()).map(|action| action.name()).collect();
        assert_eq!(named, actions);
        for action in Action::ALL.iter().filter(|action| action.is_verb()) {
            let (_, text) = routes.iter().find(|(verb, _)| verb == action.name()).unwrap();
            assert!(text.contains(&format!("`{}`", action.permission().name())), "{action:?}: {text}");
        }
    }

    #[test]
    fn the_actions_on_an_alert_are_its_routes() {
        let routes = verbs_below("/api/v1/alerts/{id}/");
        let named: BTreeSet<&str> = routes.iter().map(|(verb, _)| verb.as_str()).collect();
        assert_eq!(named, AlertAction::ALL.iter().map(|action| action.name()).collect());
        assert!(routes.iter().all(|(_, text)| text.contains("`alerts:publish`")), "{routes:?}");
    }

    #[test]
    fn each_verb_that_a_device_or_a_job_lists_is_a_route() {
        use muster_network::device::Status;
        use muster_network::firmware::JobAction;
        let routes = verbs_below("/api/v1/devices/{id}/");
        for status in Status::ALL {
            for verb in status.allowed() {
                assert!(routes.iter().any(|(route, _)| route == verb), "{status:?} lists {verb}");
            }
        }
        let routes = verbs_below("/api/v1/firmware/jobs/{id}/");
        let named: BTreeSet<&str> = routes.iter().map(|(verb, _)| verb.as_str()).collect();
        assert_eq!(named, JobAction::ALL.iter().map(|action| action.name()).collect());
    }
}
