//! Rules about models that keep statistics for longer than records.

use crate::{
    diagnostics::Diagnostics,
    model::{Model, aggregates::AggregateKind},
    symbol::{EXPIRE_AFTER, FIRST, KEEP_STATS, LAST, TIME, UNIQUE},
    syntax::container::ContainerAttrs,
};

pub(crate) fn check(cx: &mut Diagnostics, model: &Model, attrs: &ContainerAttrs) {
    let Some(given) = attrs.keep_stats.given() else {
        return;
    };
    if attrs.expire_after.given().is_none() {
        let message = format!(
            "`{KEEP_STATS}` is how long statistics stay after their records have expired, and records of this model never \
             expire"
        );
        let help = format!("add `{EXPIRE_AFTER} = \"30d\"`, or remove `{KEEP_STATS}`");
        cx.error(given, message, help);
    }
    if let (Some(keep), Some(expire)) = (model.keep_stats, model.expire_after)
        && keep <= expire
    {
        let message =
            format!("`{KEEP_STATS}` is not longer than `{EXPIRE_AFTER}`: nothing is left to keep");
        let help = format!("make `{KEEP_STATS}` longer, or remove it");
        cx.error(given, message, help);
    }
    if let Some(field) = model.unique() {
        let message = format!(
            "`{KEEP_STATS}` removes the records of a bucket, and the unique index on `{}` takes only one bucket of a key \
             without any",
            field.ident
        );
        let help = format!(
            "remove `{KEEP_STATS}`, or `{UNIQUE}` from `{}`",
            field.ident
        );
        cx.error(given, message, help);
    }
    let stored = &model.aggregates.stored;
    let keeps = |kind| stored.iter().any(|aggregate| aggregate.kind == kind);
    let has_ends = keeps(AggregateKind::FirstTime) && keeps(AggregateKind::LastTime);
    if !model.form.has_span() && !has_ends {
        let message = format!(
            "`{KEEP_STATS}` needs to know between which times the records of a bucket were, and buckets of this form do not say \
             it"
        );
        let help = match model.time() {
            Some(field) => format!("#[bucket({TIME}, {FIRST}, {LAST})] on `{}`", field.ident),
            None => format!("#[bucket({TIME}, {FIRST}, {LAST})]"),
        };
        cx.error(given, message, help);
    }
}
