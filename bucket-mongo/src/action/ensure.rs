//! `ensure`: creates the collection and its indexes, and reports how they differ from the model.

use bucket_core::Record;
use tracing::Instrument;

pub use self::ensure_report::{Described, EnsureReport, SizeWarning, Validated};
use self::{asked::Validator, set_up::SetUp};
use super::ActionFuture;
use crate::{Buckets, Result, trace};
#[cfg(feature = "seal")]
use crate::{
    action::archive::{Change, SetUp as ArchiveSetUp},
    error::Context,
};

mod asked;
mod checks;
mod collection;
mod describing;
mod dropping;
mod ensure_report;
mod indexes;
mod set_up;
mod validator;

impl<T: Record> Buckets<T> {
    /// Creates the collection and the indexes that the model needs, if they are missing.
    ///
    /// It destroys no data and may run at every start, in every process at once. What exists and differs from
    /// the model is reported as drift and not changed. The call waits for indexes that are still being built.
    ///
    /// In the collection of a model of another form it creates nothing
    /// ([`Drift::OtherModel`](bucket_core::index::Drift::OtherModel)). It drops an index only if that is the model's
    /// own on open buckets, and one of a smaller capacity is beside it.
    ///
    /// A model with `expire_after` needs an index that makes the server remove buckets. An empty collection
    /// gets it at once. A collection with data reports drift
    /// ([`Drift::Expiry`](bucket_core::index::Drift::Expiry)) with what the server would remove, until you
    /// call [`change_expiry`](Ensure::change_expiry).
    ///
    /// It also describes the collection in a document of the collection `bucket_models`
    /// ([`describe`](crate::describe)), so that a model with other names or types is noticed, and an aggregate that is
    /// newer than some buckets ([`Drift::PartialAggregate`](bucket_core::index::Drift::PartialAggregate)). Without the
    /// right to do so it goes on, and reports that.
    ///
    /// A handle with an archive gives that the limits by which the collection removes what has expired, an hour longer, if it
    /// exists.
    ///
    /// It takes no session: a transaction cannot build indexes on a collection that exists, nor change its options.
    ///
    /// # Errors
    ///
    /// [`BucketTooLarge`](crate::ErrorKind::BucketTooLarge) if a full bucket would exceed 16 MB with records
    /// of the size found in the collection. [`IndexBuild`](crate::ErrorKind::IndexBuild) if the collection
    /// holds two open buckets of one key.
    ///
    /// ```no_run
    /// # use bucket_mongo::{Bucketed, Buckets, Result};
    /// async fn start<T: Bucketed>(buckets: &Buckets<T>) -> Result<()> {
    ///     let report = buckets.ensure().await?;
    ///     if !report.drift.is_empty() {
    ///         eprintln!("{report}");
    ///     }
    ///     Ok(())
    /// }
    /// ```
    pub fn ensure(&self) -> Ensure<'_, T> {
        Ensure {
            buckets: self,
            replace: false,
            change_expiry: false,
            validator: Validator::Ignored,
            replace_description: false,
        }
    }
}

/// The setup of a collection; see [`Buckets::ensure`].
#[must_use = "nothing is created until this is awaited"]
#[derive(Debug)]
pub struct Ensure<'a, T: Record> {
    buckets: &'a Buckets<T>,
    replace: bool,
    change_expiry: bool,
    validator: Validator,
    replace_description: bool,
}

impl<T: Record> Ensure<'_, T> {
    /// Drops this library's indexes that conflict with the model: those on open buckets of another capacity,
    /// and those with one of the model's names and another definition. In an empty collection, also those of a
    /// model of another form.
    ///
    /// Use it when you change a capacity. Writers of the old model then open no more buckets
    /// ([`Drift`](crate::ErrorKind::Drift)), whether they call `ensure` again or not; they may still fill a bucket
    /// that they remember, up to their own capacity. A handle of another form or of other key fields that lives on notices
    /// it at the latest with its first write after 30 seconds: stop its writers first.
    ///
    /// A hidden index is shown again. One with another definition is dropped and made anew, and put back if the server
    /// refuses the new one. While it is away, it protects nothing: stop all writers before you replace the index on record
    /// ids, or a record that is delivered again meanwhile is stored twice.
    pub fn replace_indexes(mut self) -> Self {
        self.replace = true;
        self
    }

    /// Applies the model's `expire_after` to a collection that has another limit, or none.
    ///
    /// The server then removes what is past the limit, for good. Without this call, `ensure` reports the
    /// difference ([`Drift::Expiry`](bucket_core::index::Drift::Expiry)) and how much would be removed. The
    /// server keeps following the limit that it has, while reads follow the model's. If the model no longer
    /// has a limit, this call drops the index, and nothing is removed from then on.
    ///
    /// In the manual's form and in numbered buckets, the call also looks at every bucket. It gives buckets
    /// from before the model had a limit the date from which their age counts. Without that date, such
    /// buckets are hidden when they expire, but not removed.
    ///
    /// ```no_run
    /// # use bucket_mongo::{Bucketed, Buckets, Result};
    /// async fn keep_for_as_long_as_the_model_says<T: Bucketed>(buckets: &Buckets<T>) -> Result<()> {
    ///     let report = buckets.ensure().change_expiry().await?;
    ///     println!("{report}"); // index `bucket_expire` changed
    ///     Ok(())
    /// }
    /// ```
    pub fn change_expiry(mut self) -> Self {
        self.change_expiry = true;
        self
    }

    /// Makes the server refuse documents that are no buckets of the model: a validator (`$jsonSchema` and `$expr`)
    /// with the action `error`.
    ///
    /// It checks the types of the key, of the fields that the form needs, of aggregates, and of those fields of items
    /// whose type the model knows. It also checks that the count is the number of items. It refuses nothing that
    /// this library writes. Documents that fail it already may still be changed (`validationLevel: "moderate"`);
    /// [`verify`](crate::Buckets::verify) finds them.
    ///
    /// A collection with another validator keeps it, and the report has
    /// [`Drift::Validator`](bucket_core::index::Drift::Validator), until you call
    /// [`replace_validator`](Self::replace_validator). Without this call, `ensure` reports only a validator of this
    /// library that does not fit the model any more.
    ///
    /// ```no_run
    /// # use bucket_mongo::{Bucketed, Buckets, Result};
    /// async fn let_nobody_store_anything_else<T: Bucketed>(buckets: &Buckets<T>) -> Result<()> {
    ///     let report = buckets.ensure().validator().await?;
    ///     println!("{report}"); // validator installed
    ///     Ok(())
    /// }
    /// ```
    pub fn validator(mut self) -> Self {
        self.validator = self.validator.max(Validator::Installed);
        self
    }

    /// Installs the model's [`validator`](Self::validator), also in place of another one.
    ///
    /// Use it when the model has changed. Until then the old validator may refuse what the new model writes, and
    /// the new one may refuse what writers of the old model write.
    ///
    /// ```no_run
    /// # use bucket_mongo::{Bucketed, Buckets, Result};
    /// async fn after_a_change_of_the_model<T: Bucketed>(buckets: &Buckets<T>) -> Result<()> {
    ///     let report = buckets.ensure().replace_validator().await?;
    ///     println!("{report}"); // validator replaced
    ///     Ok(())
    /// }
    /// ```
    pub fn replace_validator(mut self) -> Self {
        self.validator = Validator::Replaced;
        self
    }

    /// Describes the collection anew where its description differs from the model.
    ///
    /// `ensure` keeps a [description](crate::CollectionDescription) of each collection. It reports what the model
    /// cannot read or would store at another place ([`Drift::Described`](bucket_core::index::Drift::Described),
    /// [`Drift::Field`](bucket_core::index::Drift::Field),
    /// [`Drift::Aggregate`](bucket_core::index::Drift::Aggregate)), until you call this. It changes no bucket: call it
    /// once the stored buckets fit the model.
    ///
    /// ```no_run
    /// # use bucket_mongo::{Bucketed, Buckets, Result};
    /// async fn after_all_buckets_were_stored_anew<T: Bucketed>(buckets: &Buckets<T>) -> Result<()> {
    ///     let report = buckets.ensure().replace_description().await?;
    ///     assert!(report.drift.is_empty(), "{report}");
    ///     Ok(())
    /// }
    /// ```
    pub fn replace_description(mut self) -> Self {
        self.replace_description = true;
        self
    }
}

impl<'a, T: Record> IntoFuture for Ensure<'a, T> {
    type Output = Result<EnsureReport>;
    type IntoFuture = ActionFuture<'a, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        let span =
            tracing::debug_span!(target: trace::ADMIN, "ensure", collection = T::SPEC.collection());
        let set_up = SetUp {
            store: self.buckets.store(),
            replace: self.replace,
            change_expiry: self.change_expiry,
            validator: self.validator,
            replace_description: self.replace_description,
        };
        let store = self.buckets.store();
        #[cfg(feature = "seal")]
        let change_expiry = self.change_expiry;
        let ensure = async move {
            #[cfg(feature = "seal")]
            let context = Context::of_all::<T>("ensure");
            #[cfg(feature = "seal")]
            let archive = store.archived().and_then(|archived| {
                let copies = archived.copies.collection()?;
                Some(ArchiveSetUp::new(store, copies, &context))
            });
            #[cfg(feature = "seal")]
            if let Some(archive) = &archive {
                archive.check().await?;
                if change_expiry && !archive.is_of_others().await? {
                    archive.keep_all().await?;
                }
            }
            let report = set_up.run().await;
            // Whatever it has found, the handle's writes are to find, too.
            store.cache().look_again();
            #[cfg_attr(
                not(feature = "seal"),
                expect(unused_mut, reason = "as with the feature")
            )]
            let mut report = report?;
            #[cfg(feature = "seal")]
            if let Some(archive) = archive
                && !report
                    .drift
                    .iter()
                    .any(bucket_core::index::Drift::belongs_to_others)
            {
                let change = if change_expiry {
                    Change::MirrorAll
                } else {
                    Change::Mirror
                };
                report.drift.extend(archive.mirror(change).await?);
            }
            Ok(report)
        };
        Box::pin(ensure.instrument(span))
    }
}
