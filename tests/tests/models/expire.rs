//! Retention (`expire_after`): expired records are hidden at once and removed later, and no others.

mod consent;
mod deliveries;
mod edited;
mod hidden;
mod indexes;
mod models;
mod older_buckets;
mod other_capacity;
mod shown;
mod stored;

use self::models::{long, short, without};

macro_rules! every_form {
    ($($subject:ident: $($test:ident)*;)*) => {$($(
        #[tokio::test(flavor = "multi_thread")]
        async fn $test() {
            $subject::$test::<long::Counted, short::Counted, without::Counted>().await;
            $subject::$test::<long::CountedBytes, short::CountedBytes, without::CountedBytes>().await;
            $subject::$test::<long::CountedAverage, short::CountedAverage, without::CountedAverage>().await;
            $subject::$test::<long::Windowed, short::Windowed, without::Windowed>().await;
            $subject::$test::<long::WindowedObjects, short::WindowedObjects, without::WindowedObjects>().await;
            $subject::$test::<long::Hybrid, short::Hybrid, without::Hybrid>().await;
            $subject::$test::<long::HybridSide, short::HybridSide, without::HybridSide>().await;
            $subject::$test::<long::Numbered, short::Numbered, without::Numbered>().await;
            $subject::$test::<long::NumberedObjects, short::NumberedObjects, without::NumberedObjects>().await;
            $subject::$test::<long::NumberedAverage, short::NumberedAverage, without::NumberedAverage>().await;
        }
    )*)*};
}

every_form! {
    indexes:
        every_bucket_has_the_date_that_the_index_is_on
        every_read_is_an_index_scan_over_the_buckets_of_the_key
        another_limit_is_drift_until_it_is_changed_on_purpose;
    older_buckets: buckets_from_before_the_limit_are_dated_on_purpose;
    consent:
        a_limit_that_a_model_gains_removes_nothing_without_consent
        an_empty_collection_gets_the_limit_at_once
        another_index_of_the_name_is_replaced_without_removing_anything;
    hidden: reads_show_the_same_before_and_after_the_server_has_removed_buckets;
    deliveries:
        a_record_past_the_limit_is_refused_before_anything_is_sent
        a_late_delivery_brings_no_removed_bucket_back
        writers_lose_and_double_nothing_while_buckets_are_removed;
}
