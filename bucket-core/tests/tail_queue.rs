//! The queue of a tail, against a naive model of each policy.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "tests are meant to panic"
)]

use std::collections::VecDeque;

use bson::{DateTime, RawDocumentBuf, Timestamp, doc};
use bucket_core::{
    RecordChange, TailEvent, WatchEvent, WhenSlow,
    watch::{Follow, Queue, Taken},
};
use bucket_derive::Bucketed;
use proptest::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(collection = "events", items = "items", capacity = 9, crate = ::bucket_core)]
struct Event {
    #[bucket(key)]
    key: i32,
    #[bucket(time)]
    at: DateTime,
    id: i32,
}

/// A stored record of this key, or an edited one.
fn event(key: i32, id: i32, is_stored: bool) -> WatchEvent<Event> {
    let bucket = format!("{key}_1698335220");
    let item = doc! { "at": DateTime::from_millis(i64::from(id)), "id": id };
    let time = Timestamp {
        time: 5,
        increment: 1,
    };
    let mut event = doc! {
        "_id": { "_data": "82" },
        "clusterTime": time,
        "documentKey": { "_id": &bucket },
    };
    if is_stored {
        let stored = doc! { "_id": &bucket, "key": key, "count": 1, "items": [item] };
        event.extend(doc! { "operationType": "insert", "fullDocument": stored });
    } else {
        let updated = doc! { "items.0": item, "_edits": { "number": 1_i64, "removed": 0 } };
        let update = doc! { "updatedFields": updated, "removedFields": [], "truncatedArrays": [] };
        event.extend(doc! { "operationType": "update", "updateDescription": update });
    }
    let event = RawDocumentBuf::try_from(&event).unwrap();
    let Taken::Events(mut events) = Follow::<Event>::from_time(None, time).take(&event, None)
    else {
        panic!("events");
    };
    events.pop_front().unwrap().event.unwrap()
}

/// A step of the task or of the reader.
#[derive(Debug, Clone, Copy)]
enum Step {
    Push {
        key: i32,
        is_stored: bool,
    },
    /// A damaged document.
    PushError,
    Pop,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (0..6, any::<bool>()).prop_map(|(key, is_stored)| Step::Push { key, is_stored }),
        1 => Just(Step::PushError),
        3 => Just(Step::Pop),
    ]
}

/// An event in the model: its key and kind if it is none of a damaged document, its number, and how many it replaced.
#[derive(Debug, Clone, PartialEq)]
struct Naive {
    slot: Option<(i32, bool)>,
    id: i32,
    replaced: u64,
    is_next: bool,
}

#[derive(Debug)]
struct Model {
    when_slow: WhenSlow,
    most: usize,
    waiting: VecDeque<Naive>,
    dropped: u64,
}

impl Model {
    /// Whether there was room. An event of which the reader knows that others before it were left out comes next.
    fn push(&mut self, slot: Option<(i32, bool)>, id: i32) -> bool {
        let mut replaced = 0;
        if self.when_slow == WhenSlow::NewestPerKey
            && slot.is_some()
            && let Some(at) = self
                .waiting
                .iter()
                .position(|old| old.slot == slot && !old.is_next)
        {
            replaced = self.waiting.remove(at).unwrap().replaced + 1;
        }
        if self.waiting.len() == self.most {
            if self.when_slow != WhenSlow::DropOldest {
                return false;
            }
            self.waiting.pop_front();
            self.dropped += 1;
        }
        self.waiting.push_back(Naive {
            slot,
            id,
            replaced,
            is_next: false,
        });
        true
    }

    fn pop(&mut self) -> String {
        let Some(first) = self.waiting.front_mut() else {
            return "nothing".to_owned();
        };
        if self.dropped > 0 {
            return format!("skipped None {}", std::mem::take(&mut self.dropped));
        }
        if first.replaced > 0 {
            first.is_next = true;
            let replaced = std::mem::take(&mut first.replaced);
            return format!("skipped {:?} {replaced}", first.slot.map(|(key, _)| key));
        }
        let Naive { slot, id, .. } = self.waiting.pop_front().unwrap();
        match slot {
            Some((key, is_stored)) => format!("{key} {is_stored} {id}"),
            None => format!("damaged {id}"),
        }
    }
}

fn shown(popped: Option<Result<TailEvent<Event>, i32>>) -> String {
    match popped {
        None => "nothing".to_owned(),
        Some(Err(id)) => format!("damaged {id}"),
        Some(Ok(TailEvent::Skipped { key, events, .. })) => {
            format!("skipped {:?} {events}", key.map(|key| key.key))
        }
        Some(Ok(TailEvent::Change(event))) => match event.change {
            RecordChange::Stored { record, .. } => format!("{} true {}", record.key, record.id),
            RecordChange::Updated { record, .. } => format!("{} false {}", record.key, record.id),
            other => panic!("{other:?}"),
        },
        Some(Ok(other)) => panic!("{other:?}"),
    }
}

proptest! {
    #[test]
    fn a_queue_is_bounded_and_gives_or_counts_every_event_as_its_policy_says(
        steps in prop::collection::vec(step(), 0..80),
        most in 1_usize..6,
        policy in 0_usize..3,
    ) {
        let when_slow = [WhenSlow::Wait, WhenSlow::DropOldest, WhenSlow::NewestPerKey][policy];
        let mut queue = Queue::<Event, i32>::new(when_slow, most);
        let mut model = Model { when_slow, most, waiting: VecDeque::new(), dropped: 0 };
        for (id, step) in (0..).zip(steps) {
            match step {
                Step::Push { key, is_stored } => {
                    let pushed = queue.push(Ok(event(key, id, is_stored)));
                    prop_assert_eq!(pushed.is_ok(), model.push(Some((key, is_stored)), id));
                }
                Step::PushError => {
                    let pushed = queue.push(Err(id));
                    prop_assert_eq!(pushed.is_ok(), model.push(None, id));
                }
                Step::Pop => prop_assert_eq!(shown(queue.pop()), model.pop()),
            }
            prop_assert!(model.waiting.len() <= most);
            prop_assert_eq!(queue.is_empty(), model.waiting.is_empty());
        }
        while !queue.is_empty() {
            prop_assert_eq!(shown(queue.pop()), model.pop());
        }
        prop_assert_eq!(model.pop(), "nothing");
    }
}
