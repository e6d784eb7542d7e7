//! The network: every message takes time, and some meet a fault.

use bson::RawDocumentBuf;

use crate::{
    model::Model,
    plan::Fault,
    world::{Arrival, Event, Request, Sender, World},
};

/// One direction takes up to this many milliseconds.
const WAY: u64 = 4;

impl<T: Model> World<'_, T> {
    /// Sends a message. A fault may drop the call that sends it, or kill its whole client.
    pub(crate) fn send(&mut self, sender: Sender, body: RawDocumentBuf) {
        let place = self.messages;
        self.messages += 1;
        let (mut out, mut back) = (self.up_to(WAY), self.up_to(WAY));
        let mut fate = None;
        let mut after = Vec::new();
        let mut copies = 0;
        while let Some(due) = self
            .plan
            .faults
            .get(self.next_fault)
            .filter(|it| it.at <= place)
        {
            self.next_fault += 1;
            self.faults += 1;
            let fault = due.fault;
            self.tell(|| format!("message {place} meets {fault:?}"));
            match fault {
                Fault::Slow(more) => out += u64::from(more),
                Fault::SlowReply(more) => back += u64::from(more),
                // A router that sends it a second time relies on its number.
                Fault::Twice => copies += usize::from(matches!(body.get("txnNumber"), Ok(Some(_)))),
                Fault::LoseRequest
                | Fault::LoseReply
                | Fault::Late(_)
                | Fault::NotSent
                | Fault::Silence
                | Fault::Drop { before: true } => fate = Some(fault),
                Fault::Drop { before: false } | Fault::Kill(_) | Fault::Leave => after.push(fault),
                fault => self.strike(fault, sender),
            }
        }
        self.tell(|| format!("{sender:?} sends {}", short(&body)));
        let has_original = fate.is_none() || matches!(fate, Some(Fault::LoseReply));
        let copies = if has_original { copies } else { 0 };
        let copy = (copies > 0).then(|| body.clone());
        let broken = |sender| Event::Response(sender, Arrival::Broken);
        match fate {
            None => self.arrives(out, sender, body, Some(back)),
            Some(Fault::LoseRequest) => self.at(out + back, broken(sender)),
            Some(Fault::LoseReply) => {
                self.arrives(out, Sender::Nobody, body, None);
                self.at(out + back, broken(sender));
            }
            Some(Fault::Late(later)) => {
                self.arrives(u64::from(later), Sender::Nobody, body, None);
                self.at(out + back, broken(sender));
            }
            Some(Fault::NotSent) => self.at(1, Event::Response(sender, Arrival::NotSent)),
            Some(Fault::Drop { .. }) => {
                // Nothing was sent: the call is dropped while it waits for a connection.
                self.at(1, Event::Response(sender, Arrival::NotSent));
                after.push(Fault::Drop { before: true });
            }
            Some(_) => {}
        }
        for copy in copy.into_iter().flat_map(|copy| vec![copy; copies]) {
            // Right after the original.
            self.arrives(out, Sender::Nobody, copy, None);
        }
        for fault in after {
            self.strike(fault, sender);
        }
    }

    fn arrives(&mut self, after: u64, sender: Sender, body: RawDocumentBuf, back: Option<u64>) {
        let request = Request {
            sender,
            body,
            back,
            node: self.node,
            downs: self.downs,
        };
        self.at(after, Event::Request(request));
    }

    /// The call that a message belongs to, if it still exists.
    pub(crate) fn call_of(&self, sender: Sender) -> Option<usize> {
        match sender {
            Sender::Read(call, ..) => Some(call),
            Sender::Command(command, _) => self.commands.get(command)?.as_ref()?.call,
            Sender::Nobody => None,
        }
    }
}

/// A command in one line.
fn short(body: &RawDocumentBuf) -> String {
    let text =
        bson::Document::try_from(body).map_or_else(|error| error.to_string(), |it| it.to_string());
    text.chars().take(1_500).collect()
}
