//! Every span and event of the library as text.

use std::{
    fmt::{Debug, Write},
    sync::{Arc, Mutex},
};

use tracing::{
    Dispatch, Event, Metadata, Subscriber,
    field::{Field, Visit},
    span::{Attributes, Id, Record},
};

#[derive(Clone, Default)]
pub(super) struct Traces(Arc<Mutex<String>>);

struct Text<'a>(&'a mut String);

impl Visit for Text<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        writeln!(self.0, "{} {value:?}", field.name()).unwrap();
    }
}

impl Traces {
    fn add(&self, metadata: &Metadata<'_>, record: impl FnOnce(&mut Text<'_>)) {
        if metadata.target().starts_with("bucket") {
            let mut text = self.0.lock().unwrap();
            writeln!(text, "{}", metadata.name()).unwrap();
            record(&mut Text(&mut text));
        }
    }

    pub(super) fn assert_without(&self, secret: &str) {
        let text = self.0.lock().unwrap();
        for operation in ["delete_key", "update", "repair", "insert_many"] {
            assert!(text.contains(operation), "{operation}");
        }
        let lines = text.lines().filter(|line| line.contains(secret));
        assert_eq!(lines.collect::<Vec<_>>(), Vec::<&str>::new());
    }
}

impl Subscriber for Traces {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        self.add(span.metadata(), |text| span.record(text));
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        self.add(event.metadata(), |text| event.record(text));
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// With a single subscriber in the process, `tracing` asks only that of the thread that meets a span first.
pub(super) fn of_other_threads() -> Dispatch {
    Dispatch::new(Traces::default())
}
