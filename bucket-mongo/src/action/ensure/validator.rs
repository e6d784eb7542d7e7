//! Installs the validator of the model, or says what is in its place.
//!
//! It comes after the indexes, which decide whose a new collection is: of two models that set it up at the same moment,
//! only the one that keeps it installs its validator.

use bucket_core::{
    index::Drift,
    schema::{Validation, validation},
};
use mongodb::bson::{Document, doc};

use super::{
    asked::Validator,
    ensure_report::{EnsureReport, Validated},
    set_up::SetUp,
};

impl SetUp<'_> {
    pub(super) async fn validate(
        &self,
        found: &Document,
        report: &mut EnsureReport,
    ) -> mongodb::error::Result<()> {
        let spec = self.store.spec();
        match Validation::of_listed(spec, found) {
            // By this call, if it had to begin again.
            Validation::Same
                if matches!(report.validator, Validated::Installed | Validated::Replaced) => {}
            Validation::Same if self.validator.is_asked_for() => {
                report.validator = Validated::Found;
            }
            Validation::Missing if self.validator.is_asked_for() => {
                self.install_validator().await?;
                report.validator = Validated::Installed;
            }
            Validation::Differs(_) if self.validator == Validator::Replaced => {
                self.install_validator().await?;
                report.validator = Validated::Replaced;
            }
            Validation::Differs(drift) => {
                // Other ones are not this library's business.
                if self.validator.is_asked_for() {
                    report.validator = Validated::Differs;
                }
                let is_own = matches!(drift, Drift::Validator { is_own: true, .. });
                if is_own || self.validator.is_asked_for() {
                    report.drift.push(drift);
                }
            }
            _ => {}
        }
        Ok(())
    }

    async fn install_validator(&self) -> mongodb::error::Result<()> {
        let mut command = doc! { "collMod": self.store.spec().collection() };
        command.extend(validation(self.store.spec()));
        self.store.database().run_command(command).await?;
        Ok(())
    }
}
