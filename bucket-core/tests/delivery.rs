//! One command on its way, step by step: what a reply, a fault or silence leads to.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "in a test they are the point"
)]

use bson::{Document, doc};
use bucket_core::write::{Answer, Certainty, Deed, Delivery, Ended, Event, Fault};

fn refused() -> Document {
    doc! { "ok": 1, "n": 0, "writeErrors": [{ "index": 0, "code": 11_000 }] }
}

fn applied() -> Document {
    doc! { "ok": 1, "n": 1 }
}

fn replayed(statements: &[i32]) -> Document {
    doc! { "ok": 1, "n": 3, "retriedStmtIds": statements }
}

/// A command of three statements with the number 5.
fn numbered() -> Delivery {
    let mut delivery = Delivery::new(3);
    delivery.told(Event::Number(5));
    delivery
}

fn send(number: impl Into<Option<i64>>) -> Deed {
    let number = number.into();
    Deed::Send {
        number,
        named: true,
    }
}

#[track_caller]
fn answer(delivery: Delivery) -> Answer {
    assert_eq!(delivery.next(), Deed::End);
    match delivery.end() {
        Ended::Reply(answer) => answer,
        other => panic!("{other:?}"),
    }
}

fn failed(delivery: Delivery) -> (Option<Fault>, bool) {
    assert_eq!(delivery.next(), Deed::End);
    match delivery.end() {
        Ended::Failed { fault, unknown } => (fault, unknown),
        other => panic!("{other:?}"),
    }
}

fn loses(delivery: &mut Delivery) {
    delivery.told(Event::Fault(Fault::Lost));
    assert!(matches!(delivery.next(), Deed::Pause { .. }));
    delivery.told(Event::Paused);
}

#[test]
fn the_first_reply_decides_everything() {
    let mut delivery = numbered();
    assert_eq!(delivery.next(), send(5));
    delivery.told(Event::Reply(refused()));
    assert_eq!(answer(delivery).doubt, Certainty::Full);
}

#[test]
fn a_lost_command_is_retried_under_its_own_number() {
    let mut delivery = numbered();
    for tries in 1..5 {
        loses(&mut delivery);
        assert_eq!(delivery.next(), send(5));
        assert_eq!(delivery.resent(), tries);
    }
    // The server answers from its record: that is a success.
    delivery.told(Event::Reply(replayed(&[0, 1, 2])));
    let answer = answer(delivery);
    assert_eq!((answer.doubt, answer.resent), (Certainty::Full, 4));
    assert!(answer.taken.is_empty());
}

#[test]
fn a_refusal_after_a_lost_try_counts_once_a_fence_excludes_that_try() {
    let mut delivery = numbered();
    loses(&mut delivery);
    delivery.told(Event::Reply(refused()));
    assert_eq!(delivery.next(), Deed::Number { above: 5 });
    delivery.told(Event::Number(6));
    assert_eq!(delivery.next(), Deed::Fence { number: 6 });
    delivery.told(Event::Fault(Fault::Lost));
    assert_eq!(delivery.next(), Deed::Pause { ceiling: 10 });
    delivery.told(Event::Paused);
    assert_eq!(delivery.next(), Deed::Fence { number: 6 });
    delivery.told(Event::Reply(doc! { "ok": 1, "n": 0 }));
    assert_eq!(answer(delivery).doubt, Certainty::Overtaken);
}

#[test]
fn a_fence_with_an_old_number_excludes_it_too() {
    let mut delivery = numbered();
    loses(&mut delivery);
    delivery.told(Event::Reply(refused()));
    delivery.told(Event::Number(6));
    delivery.told(Event::Fault(Fault::TooOld { newer: Some(9) }));
    assert_eq!(answer(delivery).doubt, Certainty::Overtaken);
}

#[test]
fn without_a_fence_a_refusal_after_a_lost_try_leaves_the_outcome_unknown() {
    let ends: [Event; 4] = [
        Event::Deadline { sent: true },
        Event::Fault(Fault::Refused),
        Event::Fault(Fault::NoNumbers),
        Event::NoNumber,
    ];
    for end in ends {
        let mut delivery = numbered();
        loses(&mut delivery);
        delivery.told(Event::Reply(refused()));
        if end != Event::NoNumber {
            delivery.told(Event::Number(6));
        }
        delivery.told(end);
        assert_eq!(answer(delivery).doubt, Certainty::Open);
    }
}

#[test]
fn an_applied_command_needs_no_fence() {
    let mut delivery = numbered();
    loses(&mut delivery);
    delivery.told(Event::Reply(applied()));
    assert_eq!(answer(delivery).doubt, Certainty::Full);
}

#[test]
fn a_reply_that_asks_for_a_retry_is_the_outcome_at_the_deadline() {
    let concern = doc! { "ok": 1, "n": 1, "writeConcernError": { "code": 64 } };
    let mut delivery = numbered();
    delivery.told(Event::Reply(concern.clone()));
    assert!(delivery.may_be_applied());
    delivery.told(Event::Deadline { sent: false });
    assert_eq!(answer(delivery).reply, concern);
    // In flight again, it may end differently.
    let mut delivery = numbered();
    delivery.told(Event::Reply(concern));
    delivery.told(Event::Paused);
    delivery.told(Event::Deadline { sent: false });
    assert_eq!(failed(delivery), (None, true));
}

#[test]
fn a_command_that_was_never_sent_is_not_stored() {
    let mut delivery = numbered();
    delivery.told(Event::Fault(Fault::NotSent));
    assert!(!delivery.may_be_applied());
    delivery.told(Event::Deadline { sent: false });
    assert_eq!(failed(delivery), (Some(Fault::NotSent), false));
    let mut delivery = numbered();
    delivery.told(Event::Deadline { sent: false });
    assert_eq!(failed(delivery), (None, false));
    let mut delivery = numbered();
    delivery.told(Event::Deadline { sent: true });
    assert_eq!(failed(delivery), (None, true));
}

#[test]
fn a_command_that_the_server_refuses_is_not_retried() {
    for fault in [Fault::Refused, Fault::TooOld { newer: None }] {
        let mut delivery = numbered();
        delivery.told(Event::Fault(fault));
        assert_eq!(failed(delivery), (Some(fault), false));
        // Unless an earlier try may have been applied.
        let mut delivery = numbered();
        loses(&mut delivery);
        delivery.told(Event::Fault(fault));
        assert_eq!(failed(delivery), (Some(fault), true));
    }
}

#[test]
fn a_command_that_the_server_aborted_for_good_may_be_partly_applied() {
    let fault = Fault::BrokenOff { transient: false };
    let mut delivery = numbered();
    delivery.told(Event::Fault(fault));
    assert_eq!(failed(delivery), (Some(fault), true));
}

#[test]
fn an_old_number_is_replaced_by_a_number_above_the_one_that_the_server_has_seen() {
    let mut delivery = numbered();
    delivery.told(Event::Fault(Fault::TooOld { newer: Some(8) }));
    assert_eq!(delivery.next(), Deed::Number { above: 8 });
    delivery.told(Event::Number(9));
    assert_eq!(delivery.next(), send(9));
    delivery.told(Event::Reply(applied()));
    assert_eq!(answer(delivery).doubt, Certainty::Full);
}

#[test]
fn a_command_whose_number_another_one_has_used_is_sent_under_a_fresh_one() {
    let mut delivery = numbered();
    delivery.told(Event::Reply(replayed(&[0, 1, 2])));
    assert!(delivery.has_met_a_taken_number());
    assert!(!delivery.may_be_applied());
    assert_eq!(delivery.next(), Deed::Number { above: 5 });
    delivery.told(Event::Number(6));
    delivery.told(Event::Reply(applied()));
    assert_eq!(answer(delivery).reply, applied());
}

#[test]
fn if_numbers_are_taken_repeatedly_none_is_used() {
    let mut delivery = numbered();
    for number in [6, 7] {
        delivery.told(Event::Reply(replayed(&[0, 1, 2])));
        delivery.told(Event::Number(number));
    }
    delivery.told(Event::Reply(replayed(&[0, 1, 2])));
    assert_eq!(delivery.next(), send(None));
    delivery.told(Event::Reply(applied()));
    assert_eq!(answer(delivery).doubt, Certainty::Full);
}

#[test]
fn unexecuted_statements_are_named_if_others_were_executed() {
    let mut delivery = numbered();
    delivery.told(Event::Reply(replayed(&[1, 0])));
    assert!(delivery.has_met_a_taken_number());
    assert_eq!(answer(delivery).taken, [0, 1]);
}

#[test]
fn a_number_that_was_not_sent_is_still_fresh() {
    let mut delivery = numbered();
    delivery.told(Event::Fault(Fault::NotSent));
    delivery.told(Event::Paused);
    delivery.told(Event::Reply(replayed(&[0])));
    assert_eq!(answer(delivery).taken, [0]);
}

#[test]
fn without_a_number_only_an_unsent_command_is_sent_again() {
    let mut delivery = Delivery::new(1).without_number();
    assert_eq!(delivery.next(), send(None));
    delivery.told(Event::Fault(Fault::NotSent));
    delivery.told(Event::Paused);
    assert_eq!(delivery.next(), send(None));
    delivery.told(Event::Fault(Fault::Lost));
    assert_eq!(failed(delivery), (Some(Fault::Lost), true));
    // A transaction is retried by the caller.
    let mut delivery = Delivery::new(1).in_session();
    delivery.told(Event::NoNumber);
    delivery.told(Event::Fault(Fault::NotSent));
    assert_eq!(failed(delivery), (Some(Fault::NotSent), false));
}

/// An idempotent command, without a number.
fn repeatable() -> Delivery {
    let mut delivery = Delivery::new(3).repeatable();
    delivery.told(Event::NoNumber);
    delivery
}

#[test]
fn an_idempotent_command_is_retried_without_a_number_and_reports_the_retry() {
    let mut delivery = repeatable();
    for _ in 0..2 {
        loses(&mut delivery);
        assert_eq!(delivery.next(), send(None));
    }
    delivery.told(Event::Reply(applied()));
    let first = answer(delivery);
    assert!(first.repeated && first.resent == 2 && first.doubt == Certainty::Full);

    // No fence excludes a try without a number.
    let mut delivery = repeatable();
    loses(&mut delivery);
    delivery.told(Event::Reply(refused()));
    assert_eq!(delivery.next(), Deed::Number { above: 0 });
    delivery.told(Event::NoNumber);
    let refused = answer(delivery);
    assert!(refused.repeated && refused.doubt == Certainty::Open);

    // It has a number by which the server recognises a retry.
    let mut delivery = Delivery::new(3).repeatable();
    delivery.told(Event::Number(5));
    loses(&mut delivery);
    delivery.told(Event::Reply(replayed(&[0, 1, 2])));
    assert!(!answer(delivery).repeated);

    let mut delivery = repeatable();
    delivery.told(Event::Fault(Fault::NotSent));
    delivery.told(Event::Paused);
    delivery.told(Event::Reply(applied()));
    assert!(!answer(delivery).repeated, "nothing had left");
}

#[test]
fn an_idempotent_command_is_sent_once_in_a_session_of_the_caller() {
    let mut delivery = Delivery::new(3).repeatable().in_session();
    delivery.told(Event::NoNumber);
    delivery.told(Event::Fault(Fault::Lost));
    assert_eq!(failed(delivery), (Some(Fault::Lost), true));
    // A reply says that this is no transaction: what another command's number hid is sent.
    let mut delivery = Delivery::new(3).repeatable().in_session();
    delivery.told(Event::Number(5));
    delivery.told(Event::Reply(replayed(&[1])));
    assert_eq!(delivery.next(), Deed::Number { above: 5 });
}

#[test]
fn an_idempotent_command_is_sent_under_its_own_number_though_a_part_is_applied() {
    let mut delivery = Delivery::new(3).repeatable();
    delivery.told(Event::Number(5));
    delivery.told(Event::Reply(replayed(&[1])));
    assert_eq!(delivery.next(), Deed::Number { above: 5 });
    delivery.told(Event::Number(6));
    delivery.told(Event::Reply(applied()));
    let first = answer(delivery);
    assert!(first.repeated && first.taken.is_empty());

    let mut delivery = Delivery::new(3).repeatable();
    delivery.told(Event::Number(5));
    loses(&mut delivery);
    delivery.told(Event::Fault(Fault::TooOld { newer: Some(8) }));
    assert_eq!(delivery.next(), Deed::Number { above: 8 });
    delivery.told(Event::Number(9));
    // If it fails, the lost try may still be applied.
    delivery.told(Event::Fault(Fault::Refused));
    assert_eq!(failed(delivery), (Some(Fault::Refused), true));
}

#[test]
fn a_server_that_accepts_no_numbers_gets_the_command_without_one() {
    let mut delivery = numbered();
    delivery.told(Event::Fault(Fault::NoNumbers));
    assert_eq!(delivery.next(), send(None));
}

#[test]
fn a_server_that_knows_no_collection_uuids_gets_the_command_without_one() {
    let mut delivery = numbered();
    delivery.told(Event::Fault(Fault::NoNaming));
    let unnamed = Deed::Send {
        number: Some(5),
        named: false,
    };
    assert_eq!(delivery.next(), unnamed);
    delivery.told(Event::Reply(applied()));
    assert_eq!(answer(delivery).resent, 0);
}

#[test]
fn a_command_is_called_off_only_while_nothing_can_have_been_sent() {
    let mut delivery = numbered();
    delivery.told(Event::CalledOff);
    assert_eq!(delivery.next(), Deed::End);
    assert_eq!(delivery.end(), Ended::CalledOff);
    let mut delivery = numbered();
    loses(&mut delivery);
    delivery.told(Event::CalledOff);
    assert_eq!(delivery.next(), send(5));
}

#[test]
fn the_number_is_requested_until_the_driver_has_reached_its_server() {
    let mut delivery = Delivery::new(1);
    delivery.told(Event::Fault(Fault::NotSent));
    assert_eq!(delivery.next(), Deed::Pause { ceiling: 10 });
    delivery.told(Event::Paused);
    assert_eq!(delivery.next(), Deed::Number { above: 0 });
    delivery.told(Event::Fault(Fault::Refused));
    assert_eq!(failed(delivery), (Some(Fault::Refused), false));
}

/// A command of six statements whose reply was lost twice, with its first half applied.
fn halved() -> Delivery {
    let mut delivery = Delivery::new(6).repeatable().divisible();
    delivery.told(Event::Number(5));
    loses(&mut delivery);
    assert_eq!((delivery.part(), delivery.next()), (None, send(5)));
    loses(&mut delivery);
    // Under the same number: the server recognises each statement by its position.
    assert_eq!((delivery.part(), delivery.next()), (Some(0..3), send(5)));
    delivery.told(Event::Reply(doc! { "ok": 1, "n": 3 }));
    assert_eq!((delivery.part(), delivery.next()), (Some(3..6), send(5)));
    delivery
}

#[test]
fn a_command_whose_reply_is_lost_again_continues_in_halves_under_its_number() {
    let mut delivery = halved();
    let invalid = doc! { "index": 1, "code": 121 };
    delivery.told(Event::Reply(
        doc! { "ok": 1, "n": 2, "writeErrors": [invalid] },
    ));
    // One fence for all of them, once the last one is settled.
    assert_eq!(delivery.next(), Deed::Number { above: 5 });
    delivery.told(Event::Number(6));
    delivery.told(Event::Reply(applied()));
    let whole = answer(delivery);
    let invalid = doc! { "index": 4_i64, "code": 121 };
    assert_eq!(
        whole.reply,
        doc! { "ok": 1, "n": 5_i64, "writeErrors": [invalid] }
    );
    assert_eq!(
        (whole.doubt, whole.open.len(), whole.repeated),
        (Certainty::Overtaken, 0, false)
    );
}

#[test]
fn a_half_that_is_not_settled_by_the_deadline_does_not_affect_the_other_half() {
    let assert_open = |delivery: Delivery| {
        let part = answer(delivery);
        assert_eq!((part.open, part.doubt), (vec![3, 4, 5], Certainty::Open));
        assert_eq!(part.reply, doc! { "ok": 1, "n": 3 });
    };
    let mut under_way = halved();
    under_way.told(Event::Deadline { sent: true });
    assert_open(under_way);
    let mut refused = halved();
    refused.told(Event::Fault(Fault::Refused));
    assert_open(refused);
    let mut lost = halved();
    lost.told(Event::Fault(Fault::Lost));
    lost.told(Event::Deadline { sent: false });
    assert_open(lost);
    // A reply that asks for a retry: not yet replicated.
    let mut waiting = halved();
    let concern = doc! { "code": 64 };
    waiting.told(Event::Reply(
        doc! { "ok": 1, "n": 3, "writeConcernError": concern },
    ));
    waiting.told(Event::Deadline { sent: false });
    let all = answer(waiting);
    assert_eq!((all.open.len(), all.reply.get_i64("n").ok()), (0, Some(6)));
}

#[test]
fn a_command_whose_statements_depend_on_each_other_is_never_split() {
    let mut delivery = numbered();
    for _ in 0..5 {
        loses(&mut delivery);
        assert_eq!((delivery.part(), delivery.next()), (None, send(5)));
    }
}

#[test]
fn records_of_a_split_command_have_a_known_outcome_together_or_not_at_all() {
    let divided = || {
        let mut delivery = Delivery::new(6).divisible();
        delivery.told(Event::Number(5));
        loses(&mut delivery);
        loses(&mut delivery);
        delivery.told(Event::Reply(doc! { "ok": 1, "n": 3 }));
        assert_eq!(delivery.part(), Some(3..6));
        delivery
    };
    let mut delivery = divided();
    delivery.told(Event::Reply(doc! { "ok": 1, "n": 3 }));
    let whole = answer(delivery);
    assert_eq!(
        (whole.reply.get_i64("n").ok(), whole.doubt),
        (Some(6), Certainty::Full)
    );
    let mut delivery = divided();
    delivery.told(Event::Deadline { sent: true });
    assert_eq!(failed(delivery), (None, true));
}
