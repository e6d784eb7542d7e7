//! A write call, and how a test goes on with it.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used, clippy::panic)]

use bucket_core::{
    read::FindPlan,
    write::{Answer, Cache, Call, CallEvent, Delivered, Dispatch, Listing, Next, Report},
};

use crate::collection::Collection;

/// The executor's report on a failed command.
pub type Failure = &'static str;

/// What a call needs from its executor.
#[derive(Debug)]
pub enum Need {
    Reads(Vec<FindPlan>),
    Commands(Vec<Dispatch>),
    Pause,
    Nothing,
}

/// Performs one step of a call. Returns what it needs next, unless that step needed only what the
/// handle has learned.
pub fn go_on(call: &mut Call<Failure>, cache: &mut Cache) -> Option<Need> {
    match call.next() {
        Next::Consult => call.consult(cache),
        Next::Look(_) => call.told(CallEvent::Listed(Listing::NotPermitted)),
        Next::Read(plans) => return Some(Need::Reads(plans)),
        Next::Send(commands) => return Some(Need::Commands(commands)),
        Next::Pause { .. } => return Some(Need::Pause),
        Next::Wait => panic!("nothing is under way"),
        Next::Done => return Some(Need::Nothing),
    }
    None
}

/// Reports what the reads of a call found.
pub fn read(call: &mut Call<Failure>, plans: &[FindPlan], collection: &Collection) {
    let found = plans.iter().map(|plan| collection.find(plan)).collect();
    call.told(CallEvent::Found(found));
}

/// The server's reply to a command of a call.
pub fn answered(collection: &Collection, command: &Dispatch) -> Delivered<Failure> {
    Delivered::Answer(Answer::sure(collection.run(&command.body)))
}

/// What [`run`] shows to its test.
pub enum Moment<'a> {
    /// Before each step.
    Step(usize, &'a mut Call<Failure>),
    Pause,
}

/// Runs a call whose reads and commands are executed at once.
pub fn run(
    mut call: Call<Failure>,
    collection: &Collection,
    mut watch: impl FnMut(Moment<'_>),
    mut send: impl FnMut(&Collection, &Dispatch) -> Delivered<Failure>,
) -> Report<Failure> {
    let mut cache = Cache::default();
    for step in 0..10_000 {
        watch(Moment::Step(step, &mut call));
        match go_on(&mut call, &mut cache) {
            None => {}
            Some(Need::Reads(plans)) => read(&mut call, &plans, collection),
            Some(Need::Commands(commands)) => {
                let ended: Vec<_> = commands.iter().map(|it| send(collection, it)).collect();
                // A command that fails has used all the time of its call.
                let late = !ended.iter().all(|it| matches!(it, Delivered::Answer(_)));
                call.told(CallEvent::Ended {
                    commands: ended,
                    late,
                });
            }
            Some(Need::Pause) => {
                watch(Moment::Pause);
                call.told(CallEvent::Paused);
            }
            Some(Need::Nothing) => return call.end().1,
        }
    }
    panic!("the call does not come to an end");
}
