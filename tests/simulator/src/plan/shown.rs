//! A plan as it is printed when its history fails.

use std::fmt;

use super::Plan;

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "form {}, {} keys{}",
            crate::forms::name(self.form),
            self.keys,
            if self.validates {
                ", some records are refused"
            } else {
                ""
            }
        )?;
        for (at, client) in self.clients.iter().enumerate() {
            writeln!(f, "client {at}: {client:?}")?;
        }
        for (at, writer) in self.writers.iter().enumerate() {
            writeln!(
                f,
                "writer {at} of client {}, source {:?}, in a session: {}",
                writer.client, writer.source, writer.in_session
            )?;
            for call in &writer.calls {
                if let Some(edit) = call.edit {
                    let (wait, deadline) = (call.wait, call.deadline);
                    writeln!(f, "    after {wait} ms {edit:?} within {deadline} ms")?;
                    continue;
                }
                writeln!(
                    f,
                    "    after {} ms {} records{}{}{} within {} ms",
                    call.wait,
                    call.records,
                    if call.of_one_key { " of one key" } else { "" },
                    if call.again > 0 { ", some again" } else { "" },
                    if call.is_shared {
                        ", of two callers"
                    } else {
                        ""
                    },
                    call.deadline
                )?;
            }
        }
        for fault in &self.faults {
            writeln!(f, "at message {}: {:?}", fault.at, fault.fault)?;
        }
        Ok(())
    }
}
