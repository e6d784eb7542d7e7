//! Each call gives the same before and after.

use bucket_tests::Load;

use super::*;

pub(super) async fn every_call_goes_on_as_before<T: Event>() {
    let database = database().await;
    let events = T::buckets(&database);
    events.ensure().await.unwrap();
    let mut ledger: Ledger<T> = (0..200)
        .map(|number| (number, T::of("a", number)))
        .collect();
    let records: Vec<T> = ledger.values().cloned().collect();
    events.load(&records).await;
    events.load((0..50).map(|number| T::of("b", number))).await;
    let references_before = references(&events, "a").await;
    let page = page_two(&events).await;

    let none_is_due = events
        .seal()
        .after(Duration::from_secs(100 * 365 * 86_400))
        .await
        .unwrap();
    assert_eq!(none_is_due.buckets, 0);
    let would = events.seal().dry_run().await.unwrap();
    assert_eq!(sealed(&database).await, 0);
    let report = events.seal().await.unwrap();
    assert!(report.buckets > 5, "{report}");
    assert_eq!(
        (report.buckets, report.bytes_after),
        (would.buckets, would.bytes_after)
    );
    assert_eq!(
        sealed(&database).await,
        usize::try_from(report.buckets).unwrap()
    );
    assert!(report.bytes_after < report.bytes_before, "{report}");
    assert_eq!(seal(&events).await.buckets, 0);

    assert_eq!(stored(&events, "a").await, ledger);
    assert_eq!(page_two(&events).await, page);
    assert_eq!(references(&events, "a").await, references_before);
    statistics_are_those_of(&events, "a", &ledger).await;
    is_sound(&events).await;

    edits_go_on_as_before(&events, &references_before, &mut ledger).await;

    // Late and new records.
    for number in 1_000..1_020 {
        let late = T::late("a", number, (number - 1_000) * 7);
        events.insert(&late).await.unwrap();
        ledger.insert(number, late);
    }
    for number in 300..320 {
        let new = T::of("a", number);
        events.insert(&new).await.unwrap();
        ledger.insert(number, new);
    }
    assert_eq!(stored(&events, "a").await, ledger);
    is_sound(&events).await;
    seal(&events).await;
    assert_eq!(stored(&events, "a").await, ledger);
    statistics_are_those_of(&events, "a", &ledger).await;
    is_sound(&events).await;

    let unsealed = events.unseal().await.unwrap();
    assert!(unsealed.buckets >= report.buckets / 2, "{unsealed}");
    assert_eq!(sealed(&database).await, 0);
    assert_eq!(stored(&events, "a").await, ledger);
    statistics_are_those_of(&events, "a", &ledger).await;
    is_sound(&events).await;
    for number in 3_000..3_030 {
        let late = T::late("a", number, (number - 3_000) * 5);
        events.insert(&late).await.unwrap();
        ledger.insert(number, late);
    }
    is_sound(&events).await;
    assert_eq!(seal(&events).await.buckets > 0, unsealed.buckets > 0);
    assert_eq!(stored(&events, "a").await, ledger);
    is_sound(&events).await;
    assert!(events.delete_key(T::key_of("a")).await.unwrap().buckets > 0);
    assert!(stored(&events, "a").await.is_empty());
    assert_eq!(stored(&events, "b").await.len(), 50);
}

pub(super) async fn edits_go_on_as_before<T: Event>(
    events: &Buckets<T>,
    references: &[(Which, T)],
    ledger: &mut Ledger<T>,
) {
    for (which, record) in references.iter().step_by(7) {
        let corrected = events
            .update(T::key_of("a"), which, |it| *it.value() += 100.0)
            .await
            .unwrap();
        let mut expected = record.clone();
        *expected.value() += 100.0;
        assert_eq!(corrected.as_ref(), Some(&expected));
        ledger.insert(record.number(), expected);
    }
    let changed = events
        .update(T::key_of("a"), &references[0].0, |it| {
            *it.value() = 0.0;
        })
        .await;
    assert!(matches!(changed.unwrap_err().kind(), ErrorKind::Changed));
    for (which, record) in references.iter().skip(3).step_by(11) {
        match events.delete(T::key_of("a"), which).await {
            Ok(removed) => {
                assert_eq!(removed.as_ref().map(Event::number), Some(record.number()));
                ledger.remove(&record.number());
            }
            Err(error) => assert!(matches!(error.kind(), ErrorKind::Changed), "{error}"),
        }
    }
    let removed = events
        .delete_range(T::key_of("a"), date(60)..date(90))
        .await
        .unwrap();
    let before = ledger.len();
    ledger.retain(|number, _| !(60..90).contains(number));
    assert_eq!(
        removed.records,
        u64::try_from(before - ledger.len()).unwrap()
    );
    assert_eq!(stored(events, "a").await, *ledger);
    statistics_are_those_of(events, "a", ledger).await;
    is_sound(events).await;
}
