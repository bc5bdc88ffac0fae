//! Deciders and delegations: enrolled, suspended, resumed, removed. A file of its own beside the actor.

use std::sync::Arc;
use std::time::Duration;

use muster_auth::PublicKey;
use muster_core::guard::{GuardedAction, Need, QuorumRole};
use muster_core::ids::{IdKind, new_id};
use muster_core::journal::Journalled;
use muster_core::{Error, FieldError, Kind};
use muster_store::{Op, Record};
use serde_json::{Value, json};

use crate::actor::{Change, GovernanceActor, put_op};
use crate::approval::covered;
use crate::caller::GovernanceCaller;
use crate::decider::{Constitution, DeciderKey, DeciderRecord, DelegationRecord, MAX_KEYS};
use crate::messages::{
    DeciderList, DeciderView, Delegate, EndDelegation, Enrol, ListDeciders, NewDelegation, RemoveDecider, Resume,
};
use crate::signature::{self, NonceSubject, delegation_bytes, proof_bytes};

/// Longest delegation.
const MAX_DELEGATION: Duration = Duration::from_secs(14 * 24 * 3600);
/// Delegations of one person.
const MAX_DELEGATIONS: usize = 20;
/// What the nonce of a delegation is for.
const DELEGATION: &str = "delegation";

fn invalid(field: &str, msg: &str) -> Error {
    let loc = vec!["body".to_owned(), field.to_owned()];
    let check = FieldError { kind: "value_error", loc, msg: msg.to_owned(), input: Value::Null };
    Error { fields: vec![check], ..Error::new(Kind::Invalid, format!("{field}: {msg}")) }
}

fn not_a_decider(message: &str) -> Error {
    Error::new(Kind::Forbidden, message).coded("not_a_decider")
}

impl GovernanceActor {
    /// Enrols the caller with a key. Guarded: the resource is the thumbprint of the key.
    pub(crate) fn enrol(&mut self, request: Enrol) -> Result<Arc<DeciderRecord>, Error> {
        let Enrol { caller, mut roles, jwk, proof, permit } = request;
        self.admit()?;
        self.count_write(caller.id())?;
        if !caller.is_person() {
            return Err(not_a_decider("people decide: no key, agent or device does"));
        }
        roles.sort_unstable();
        roles.dedup();
        if roles.is_empty() {
            return Err(invalid("roles", "must name security, operations or both"));
        }
        if let Some(role) = roles.iter().find(|role| !caller.roles.contains(role)) {
            let message = format!("you do not hold the role {}", role.name());
            return Err(Error::new(Kind::Forbidden, message).coded("role_not_held"));
        }
        let key = PublicKey::from_jwk(&jwk)
            .map_err(|error| invalid("jwk", &format!("must be a public Ed25519 key: {error}")))?;
        let kid = key.thumbprint();
        let bytes = proof_bytes("muster.decider", &kid, &roles, &self.options.nonces.instance(), caller.id())?;
        signature::verify(&key, &bytes, &proof)?;
        let present = self.deciders.get(caller.id()).cloned();
        if present.as_ref().is_some_and(|decider| decider.keys.iter().any(|known| known.kid == kid)) {
            return Err(Error::new(Kind::Conflict, "you have enrolled this key").coded("key_known"));
        }
        if self.deciders.values().any(|decider| decider.keys.iter().any(|known| known.kid == kid)) {
            return Err(Error::new(Kind::Conflict, "another decider has this key").coded("key_known"));
        }
        if present.as_ref().is_some_and(|decider| decider.keys.len() >= MAX_KEYS) {
            let message = format!("a decider has at most {MAX_KEYS} keys: leave and enrol again");
            return Err(Error::new(Kind::Conflict, message).coded("too_many_keys"));
        }
        let now = self.now();
        let need = Need::new(GuardedAction::DeciderEnrol, &*kid);
        let executes = permit.is_some();
        let cleared = self.standing().clear(Some(need), caller.as_requester(), permit, now)?;
        let mut decider = present.as_deref().cloned().unwrap_or_else(|| DeciderRecord {
            user: caller.id().to_owned(),
            roles: Vec::new(),
            keys: Vec::new(),
            enrolled_at: now,
            confirmed_at: now,
            delegated: 0,
        });
        decider.roles.extend(roles);
        decider.roles.sort_unstable();
        decider.roles.dedup();
        decider.confirmed_at = now;
        decider.keys.push(DeciderKey { kid: kid.clone(), x: key.x(), enrolled_at: now });
        let details = cleared.annotate(json!({ "roles": decider.roles, "kid": kid }));
        let mut change = Change::default();
        self.put_decider(&mut change, &caller, "decider_enrolled", &decider, details)?;
        let decider = Arc::new(decider);
        self.deciders.insert(decider.user.clone(), Arc::clone(&decider));
        self.constitute(&mut change)?;
        let standing = self.standing();
        if executes {
            // The approval is this actor's own: nothing else changes it during its lease.
            change.ops.extend(cleared.into_parts().1);
        }
        self.decide(change, Some(standing))?;
        Ok(decider)
    }

    fn put_decider(
        &self,
        change: &mut Change,
        caller: &GovernanceCaller,
        action: &str,
        decider: &DeciderRecord,
        details: Value,
    ) -> Result<(), Error> {
        change.ops.push(put_op(DeciderRecord::key(&decider.user), decider)?);
        let resource = DeciderRecord::resource(&decider.user);
        self.audit_state(change, caller.id(), action, &resource, details, &decider.allows())?;
        self.notify(change, "decider.changed", &json!({ "user": decider.user, "roles": decider.roles, "what": action }))
    }

    /// Records that there is a quorum, once each role has a decider of its own.
    fn constitute(&mut self, change: &mut Change) -> Result<(), Error> {
        if self.constituted {
            return Ok(());
        }
        let held = |decider: &DeciderRecord, role: QuorumRole| {
            let user = self.options.people.get(&decider.user).filter(|user| !user.disabled);
            decider.roles.contains(&role) && user.is_some_and(|user| role.is_held_by(user.role))
        };
        let roles = QuorumRole::ALL;
        let each = self.deciders.values().enumerate();
        let offers: Vec<_> = each
            .flat_map(|(unit, decider)| {
                roles.into_iter().filter(|role| held(decider, *role)).map(move |role| (unit, role))
            })
            .collect();
        if !covered(&roles, &offers).into_iter().all(|covered| covered) {
            return Ok(());
        }
        let constitution = Constitution { at: self.now(), deciders: self.deciders.keys().cloned().collect() };
        change.ops.push(put_op(Constitution::KEY.to_vec(), &constitution)?);
        let (resource, details) = (Constitution::RESOURCE, json!({ "deciders": constitution.deciders }));
        self.audit_state(change, "system", "governance_constituted", resource, details, &constitution.allows())?;
        self.constituted = true;
        Ok(())
    }

    pub(crate) fn remove_decider(&mut self, RemoveDecider { caller, user }: RemoveDecider) -> Result<(), Error> {
        self.admit()?;
        let security = caller.is_person() && self.holds_enrolled(&caller, QuorumRole::Security);
        let permitted = caller.is_person() && (caller.id() == user || security || caller.is_super_admin);
        let found = self.deciders.get(&user).cloned();
        if !permitted && !caller.is_reader {
            return Err(Error::new(Kind::NotFound, format!("{user} is no decider")));
        }
        if !permitted {
            return Err(Error::new(
                Kind::Forbidden,
                "a decider is removed by itself, a security decider or a super_admin",
            ));
        }
        self.count_write(caller.id())?;
        let decider = found.ok_or_else(|| Error::new(Kind::NotFound, format!("{user} is no decider")))?;
        let left =
            |role: &QuorumRole| self.deciders.values().any(|other| other.user != user && other.roles.contains(role));
        if let Some(role) = decider.roles.iter().find(|role| !left(role)).filter(|_| self.constituted) {
            let message = format!("{user} is the last decider for {}: enrol another one first", role.name());
            return Err(Error::new(Kind::Conflict, message).coded("last_decider"));
        }
        let mut change = Change::default();
        change.ops.push(Op::Delete { tree: DeciderRecord::TREE, key: DeciderRecord::key(&user) });
        let ended: Vec<_> =
            self.delegations.values().filter(|one| one.from == user || one.to == user).cloned().collect();
        for delegation in &ended {
            change.ops.push(Op::Delete { tree: DelegationRecord::TREE, key: DelegationRecord::key(&delegation.id) });
        }
        let (resource, details) = (DeciderRecord::resource(&user), json!({ "roles": decider.roles }));
        self.audit_state(&mut change, caller.id(), "decider_removed", &resource, details, &Value::Null)?;
        self.notify(&mut change, "decider.changed", &json!({ "user": user, "roles": [], "what": "decider_removed" }))?;
        self.deciders.remove(&user);
        for delegation in ended {
            self.delegations.remove(&delegation.id);
        }
        let standing = self.standing();
        self.decide(change, Some(standing))
    }

    fn holds_enrolled(&self, caller: &GovernanceCaller, role: QuorumRole) -> bool {
        let decider = self.deciders.get(caller.id()).filter(|decider| !self.is_suspended(decider));
        caller.roles.contains(&role) && decider.is_some_and(|decider| decider.roles.contains(&role))
    }

    pub(crate) fn resume(&mut self, Resume { caller, proof }: Resume) -> Result<Arc<DeciderRecord>, Error> {
        self.admit()?;
        self.count_write(caller.id())?;
        let decider = self.deciders.get(caller.id()).cloned();
        let decider = decider.filter(|_| caller.is_person()).ok_or_else(|| not_a_decider("you are no decider"))?;
        let server = self.options.nonces.instance();
        let proves = |key: &DeciderKey| {
            let Some(public) = key.public() else { return false };
            let bytes = proof_bytes("muster.resume", &key.kid, &decider.roles, &server, caller.id());
            bytes.is_ok_and(|bytes| signature::verify(&public, &bytes, &proof).is_ok())
        };
        if !decider.keys.iter().any(proves) {
            let message = "the proof is no signature of one of your keys over {jkt, purpose, roles, server, user}";
            return Err(Error::new(Kind::Forbidden, message).coded("signature_invalid"));
        }
        let decider = DeciderRecord { confirmed_at: self.now(), ..DeciderRecord::clone(&decider) };
        let mut change = Change::default();
        self.put_decider(&mut change, &caller, "decider_resumed", &decider, Value::Null)?;
        let decider = Arc::new(decider);
        self.deciders.insert(decider.user.clone(), Arc::clone(&decider));
        let standing = self.standing();
        self.decide(change, Some(standing))?;
        Ok(decider)
    }

    pub(crate) fn delegate(&mut self, Delegate { caller, new }: Delegate) -> Result<Arc<DelegationRecord>, Error> {
        let NewDelegation { to, role, until, nonce, signature } = new;
        self.admit()?;
        self.count_write(caller.id())?;
        let now = self.now();
        let present = self.deciders.get(caller.id()).filter(|decider| !self.is_suspended(decider)).cloned();
        let present = present.filter(|_| caller.is_person());
        let decider = present.ok_or_else(|| not_a_decider("only a decider who is not suspended delegates"))?;
        if !caller.roles.contains(&role) || !decider.roles.contains(&role) {
            let message = format!("you do not hold the role {}: a delegated role is not passed on", role.name());
            return Err(Error::new(Kind::Forbidden, message).coded("role_not_held"));
        }
        if !self.deciders.get(&to).is_some_and(|other| other.user != caller.id() && !self.is_suspended(other)) {
            return Err(invalid("to", "must be another decider who is not suspended"));
        }
        if until <= now || until > now.plus(MAX_DELEGATION) {
            return Err(invalid("until", "must be in the future, at most 14 days ahead"));
        }
        self.delegations.retain(|_, one| now < one.until);
        if self.delegations.values().filter(|one| one.from == caller.id()).count() >= MAX_DELEGATIONS {
            let message = format!("a decider has at most {MAX_DELEGATIONS} delegations: end one first");
            return Err(Error::new(Kind::Conflict, message).coded("too_many_delegations"));
        }
        let bytes = delegation_bytes(caller.id(), &to, role, until, &nonce)?;
        let signed = decider
            .keys
            .iter()
            .find(|key| key.public().is_some_and(|public| signature::verify(&public, &bytes, &signature).is_ok()));
        let message = "the signature does not verify over {from, nonce, role, to, until} with one of your keys";
        let kid = signed.map(|key| key.kid.clone());
        let kid = kid.ok_or_else(|| Error::new(Kind::Forbidden, message).coded("signature_invalid"))?;
        let subject = NonceSubject { of: DELEGATION, person: caller.id(), turn: decider.delegated };
        signature::check_nonce(&*self.options.nonces, &nonce, subject, now)?;
        let id = new_id(IdKind::Delegation);
        let from = caller.id().to_owned();
        let delegation = DelegationRecord { id, from, to, role, until, created_at: now, nonce, kid, signature };
        let decider =
            DeciderRecord { delegated: decider.delegated.saturating_add(1), ..DeciderRecord::clone(&decider) };
        let mut change = Change::default();
        change.ops.push(put_op(DeciderRecord::key(&decider.user), &decider)?);
        change.ops.push(put_op(DelegationRecord::key(&delegation.id), &delegation)?);
        let details = json!({ "to": delegation.to, "role": role, "until": until });
        self.audit(&mut change, caller.id(), "delegation_created", &delegation.id, details.clone())?;
        self.notify(
            &mut change,
            "delegation.changed",
            &json!({ "id": delegation.id, "from": delegation.from, "what": "created" }),
        )?;
        self.deciders.insert(decider.user.clone(), Arc::new(decider));
        let delegation = Arc::new(delegation);
        self.delegations.insert(delegation.id.clone(), Arc::clone(&delegation));
        self.decide(change, None)?;
        Ok(delegation)
    }

    pub(crate) fn end_delegation(&mut self, EndDelegation { caller, id }: EndDelegation) -> Result<(), Error> {
        self.admit()?;
        let missing = || Error::new(Kind::NotFound, format!("no delegation in force has the id {id}"));
        let delegation = self.delegations.get(&id).cloned().ok_or_else(missing)?;
        let own = [&delegation.from, &delegation.to].into_iter().any(|party| party == caller.id());
        let is_super_admin = caller.is_person() && caller.is_super_admin;
        if !(own || is_super_admin || self.holds_enrolled(&caller, QuorumRole::Security)) {
            return Err(missing());
        }
        self.count_write(caller.id())?;
        let mut change = Change::default();
        change.ops.push(Op::Delete { tree: DelegationRecord::TREE, key: DelegationRecord::key(&id) });
        self.audit(
            &mut change,
            caller.id(),
            "delegation_ended",
            &id,
            json!({ "from": delegation.from, "to": delegation.to }),
        )?;
        self.notify(&mut change, "delegation.changed", &json!({ "id": id, "from": delegation.from, "what": "ended" }))?;
        self.delegations.remove(&id);
        self.decide(change, None)
    }

    pub(crate) fn list_deciders(&mut self, ListDeciders { caller }: ListDeciders) -> Result<DeciderList, Error> {
        let now = self.now();
        let is_decider = caller.is_person() && !caller.roles.is_empty();
        if !caller.is_reader && !is_decider {
            let message = "deciders are read by auditors, super_admins and people with the role security or operations";
            return Err(Error::new(Kind::Forbidden, message).coded("permission_denied"));
        }
        let held = |decider: &DeciderRecord| {
            let user = self.options.people.get(&decider.user).filter(|user| !user.disabled);
            user.is_some_and(|user| decider.roles.iter().all(|role| role.is_held_by(user.role)))
        };
        let deciders = self.deciders.values().map(|decider| DeciderView {
            suspended: self.is_suspended(decider) || !held(decider),
            record: Arc::clone(decider),
        });
        let challenge = self.deciders.get(caller.id()).map(|decider| {
            let subject = NonceSubject { of: DELEGATION, person: caller.id(), turn: decider.delegated };
            signature::challenge(&*self.options.nonces, subject, now)
        });
        Ok(DeciderList {
            server: self.options.nonces.instance(),
            constituted: self.constituted,
            deciders: deciders.collect(),
            delegations: self.delegations.values().filter(|one| now < one.until).cloned().collect(),
            challenge,
        })
    }
}
