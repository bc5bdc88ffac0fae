//! Asking witnesses for their cosignatures.

use std::sync::Arc;
use std::time::Duration;

use actix::{ActorFutureExt, AsyncContext, Context, WrapFuture};
use muster_core::Millis;
use muster_tlog::{Hash, Note, Signed, TileTree};

use super::Follower;
use crate::view::SignedCheckpoint;
use crate::witness::WitnessError;

/// Time after which a witness that did not answer is asked again.
pub(super) const RETRY: Duration = Duration::from_secs(30);

impl Follower {
    /// Submits the newest checkpoint to each witness that has not cosigned it and has no request in flight.
    pub(super) fn ask_witnesses(&mut self, context: &mut Context<Self>) {
        for place in 0..self.options.witnesses.len() {
            let behind = self.view.witnesses.get(place).is_some_and(|status| status.size < self.view.signed_size());
            if behind && self.asked.get(place) == Some(&false) {
                self.ask(place, context);
            }
        }
    }

    fn ask(&mut self, place: usize, context: &mut Context<Self>) {
        let (Some(witness), Some(signed)) = (self.options.witnesses.get(place), self.view.signed.clone()) else {
            return;
        };
        let old = self.view.witnesses.get(place).map_or(0, |status| status.size);
        let Some(proof) = self.proof(old, &signed) else { return };
        if let Some(asked) = self.asked.get_mut(place) {
            *asked = true;
        }
        let answer = Arc::clone(witness).add_checkpoint(old, proof, signed.note.clone());
        context.spawn(answer.into_actor(self).map(move |answer, follower, context| {
            if let Some(asked) = follower.asked.get_mut(place) {
                *asked = false;
            }
            let answer = answer.and_then(|lines| follower.cosigned(place, &signed, &lines));
            follower.answered(place, &signed, answer, context);
        }));
    }

    fn proof(&self, old: u64, signed: &SignedCheckpoint) -> Option<Vec<Hash>> {
        TileTree::new(&self.view.edge, &self.log).consistency(old, signed.size).ok()
    }

    /// Verifies the cosignatures of an answer against the key of the witness.
    fn cosigned(&mut self, place: usize, signed: &SignedCheckpoint, lines: &str) -> Result<Millis, WitnessError> {
        let refused = |why: &str| WitnessError::Refused(why.to_owned());
        let witness = self.options.witnesses.get(place).ok_or_else(|| refused("it is gone"))?;
        let text = Note::parse(signed.note.as_bytes()).map_err(|error| refused(&error.to_string()))?.text().to_owned();
        let cosigned = Note::parse(format!("{text}\n{lines}").as_bytes());
        let cosigned = cosigned.map_err(|_| refused("its answer has no signature lines"))?;
        let verified = cosigned.verify(std::slice::from_ref(witness.key()));
        let verified = verified.map_err(|error| refused(&error.to_string()))?;
        let time = verified.iter().find_map(|(_, signed)| match signed {
            Signed::At(seconds) => Some(Millis(seconds.saturating_mul(1000))),
            Signed::Text => None,
        });
        let time = time.ok_or_else(|| refused("its signature has no time"))?;
        let key = witness.key();
        let own = |line: &&muster_tlog::NoteSignature| line.name() == key.name() && line.key_id() == key.id();
        let own: Vec<_> = cosigned.signatures().iter().filter(own).cloned().collect();
        if let Some(newest) = self.view.signed.as_mut().filter(|newest| newest.size == signed.size) {
            newest.cosignatures.extend(own);
        }
        Ok(time)
    }

    fn answered(
        &mut self,
        place: usize,
        signed: &SignedCheckpoint,
        answer: Result<Millis, WitnessError>,
        context: &mut Context<Self>,
    ) {
        let Some(status) = self.view.witnesses.get_mut(place) else { return };
        let mut again = false;
        match answer {
            Ok(at) => {
                status.size = signed.size;
                status.at = Some(at);
                status.problem = None;
                again = signed.size < self.view.signed.as_ref().map_or(0, |newest| newest.size);
            }
            // A witness that knows more than was ever signed here has seen another history.
            Err(WitnessError::Size(size)) if size > signed.size => {
                let what = format!("the witness {} has seen {size} entries, {} are signed", status.name, signed.size);
                status.problem = Some(what.clone());
                self.alarm(None, what, context);
            }
            Err(WitnessError::Size(size)) => {
                again = size != status.size;
                status.size = size;
            }
            Err(WitnessError::Refused(why)) => status.problem = Some(why),
        }
        self.publish();
        if again {
            self.ask_witnesses(context);
        }
    }
}
