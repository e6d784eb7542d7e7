//! The pages of the repository: their code is compiled, and what they name is there.
//!
//! A package of its own, so that a change of a page makes no other test compile again.

#[cfg(test)]
mod book;
#[cfg(test)]
mod manifests;
#[cfg(test)]
mod names;
#[cfg(test)]
mod shown;
#[cfg(test)]
mod tree;

/// Pages, each compiled.
macro_rules! pages {
    ($($name:ident: $path:literal;)+) => {$(
        #[cfg(doctest)]
        #[doc = include_str!(concat!("../../../", $path))]
        mod $name {}
    )+};
}

pages! {
    readme: "README.md";
    contributing: "CONTRIBUTING.md";
    cli_readme: "bucket-cli/README.md";
    arrow_readme: "bucket-arrow/README.md";
    derive_attribute_value: "bucket-derive/src/docs/attribute_value.md";
    derive_attributed: "bucket-derive/src/docs/attributed.md";
    derive_bucket_key: "bucket-derive/src/docs/bucket_key.md";
    derive_bucketed: "bucket-derive/src/docs/bucketed.md";
    derive_generated: "bucket-derive/src/docs/generated.md";
    architecture: "docs/architecture.md";
    aggregates: "docs/book/src/aggregates.md";
    all_keys: "docs/book/src/all-keys.md";
    archive: "docs/book/src/archive.md";
    arrow: "docs/book/src/arrow.md";
    attributes: "docs/book/src/attributes.md";
    attributes_in_buckets: "docs/book/src/attributes-in-buckets.md";
    backfill: "docs/book/src/backfill.md";
    benchmarks: "docs/book/src/benchmarks.md";
    comparison: "docs/book/src/comparison.md";
    command_line: "docs/book/src/command-line.md";
    compatibility: "docs/book/src/compatibility.md";
    cookbook_iot: "docs/book/src/cookbook-iot.md";
    cookbook_pagination: "docs/book/src/cookbook-pagination.md";
    cookbook_products: "docs/book/src/cookbook-products.md";
    cookbook_queue: "docs/book/src/cookbook-queue.md";
    cookbook_requests: "docs/book/src/cookbook-requests.md";
    design: "docs/book/src/design.md";
    edits: "docs/book/src/edits.md";
    errors: "docs/book/src/errors.md";
    faults: "docs/book/src/faults.md";
    form_count: "docs/book/src/form-count.md";
    form_hybrid: "docs/book/src/form-hybrid.md";
    form_numbered: "docs/book/src/form-numbered.md";
    form_window: "docs/book/src/form-window.md";
    glossary: "docs/book/src/glossary.md";
    ids_and_names: "docs/book/src/ids-and-names.md";
    ingesting: "docs/book/src/ingesting.md";
    inserting: "docs/book/src/inserting.md";
    limits: "docs/book/src/limits.md";
    model: "docs/book/src/model.md";
    moving_a_collection: "docs/book/src/moving-a-collection.md";
    operations: "docs/book/src/operations.md";
    pages: "docs/book/src/pages.md";
    quickstart: "docs/book/src/quickstart.md";
    record_ids: "docs/book/src/record-ids.md";
    records: "docs/book/src/records.md";
    repair: "docs/book/src/repair.md";
    retention: "docs/book/src/retention.md";
    rollups: "docs/book/src/rollups.md";
    sessions: "docs/book/src/sessions.md";
    setting_up: "docs/book/src/setting-up.md";
    sealed: "docs/book/src/sealed.md";
    sizes: "docs/book/src/sizes.md";
    sources: "docs/book/src/sources.md";
    spans: "docs/book/src/spans.md";
    statistics: "docs/book/src/statistics.md";
    testing: "docs/book/src/testing.md";
    tracing: "docs/book/src/tracing.md";
    units_and_order: "docs/book/src/units-and-order.md";
    which_form: "docs/book/src/which-form.md";
    verify: "docs/book/src/verify.md";
    watching: "docs/book/src/watching.md";
    why_buckets: "docs/book/src/why-buckets.md";
}
