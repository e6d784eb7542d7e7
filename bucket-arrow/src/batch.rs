//! A batch that is being filled.

use std::{fmt, marker::PhantomData, sync::Arc};

use arrow_array::{Array, RecordBatch, StructArray};
use arrow_schema::ArrowError;
use bucket_mongo::Record;

use crate::{Error, Layout, Result, column::Column, key_text};

/// The bytes after which a batch is full: each of its columns counts them in 31 bits.
const MOST_BYTES: usize = 1 << 30;

/// The number of records between two looks at the bytes: a record has at most 16 MB, which may be four times as many as JSON.
const LOOK_AFTER: usize = 16;

/// Fills one batch after the other; see [`Layout::batch`].
///
/// ```
/// use bucket_arrow::{Layout, Result};
/// use bucket_mongo::Bucketed;
///
/// /// The rows of some records.
/// fn rows<T: Bucketed>(records: &[T]) -> Result<usize> {
///     let mut batch = Layout::<T>::new()?.batch();
///     for record in records {
///         batch.push(record)?;
///     }
///     Ok(batch.finish()?.num_rows())
/// }
/// ```
pub struct BatchBuilder<T> {
    layout: Layout<T>,
    column: Column,
    /// Whether a record did not fit, so that a part of it is in some columns.
    broken: bool,
    record: PhantomData<fn(&T)>,
}

impl<T> fmt::Debug for BatchBuilder<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BatchBuilder")
            .field("len", &self.column.len())
            .finish_non_exhaustive()
    }
}

impl<T: Record> Layout<T> {
    /// A batch of these columns, without records.
    #[must_use]
    pub fn batch(&self) -> BatchBuilder<T> {
        BatchBuilder {
            column: Column::new(self.root()),
            layout: self.clone(),
            broken: false,
            record: PhantomData,
        }
    }
}

impl<T: Record> BatchBuilder<T> {
    /// Appends a record.
    ///
    /// # Errors
    ///
    /// [`Error::Record`] if it does not fit the columns. The batch cannot be used any more then, and each further call is
    /// [`Error::InvalidArgument`].
    pub fn push(&mut self, record: &T) -> Result<()> {
        self.check()?;
        let time = record.time();
        let millis = time.timestamp_millis();
        self.column.set_time(self.layout.time(), millis);
        self.column.push(record).map_err(|misfit| {
            self.broken = true;
            let (field, message) = misfit.into_parts();
            Error::Record {
                key: key_text::of::<T>(&record.key()),
                time,
                field,
                message,
            }
        })
    }

    /// The number of records.
    #[must_use]
    pub fn len(&self) -> usize {
        self.column.len()
    }

    /// Whether there is no record.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether it has this many records, or as many bytes as a batch can have.
    ///
    /// ```
    /// use bucket_arrow::{Layout, Result, arrow_array::RecordBatch};
    /// use bucket_mongo::Bucketed;
    ///
    /// fn batches<T: Bucketed>(records: &[T]) -> Result<Vec<RecordBatch>> {
    ///     let mut batch = Layout::<T>::new()?.batch();
    ///     let mut full = Vec::new();
    ///     for record in records {
    ///         batch.push(record)?;
    ///         if batch.is_full(10_000) {
    ///             full.push(batch.finish()?);
    ///         }
    ///     }
    ///     full.push(batch.finish()?);
    ///     Ok(full)
    /// }
    /// ```
    #[must_use]
    pub fn is_full(&self, rows: usize) -> bool {
        let len = self.len();
        len >= rows || (len.is_multiple_of(LOOK_AFTER) && self.column.bytes() >= MOST_BYTES)
    }

    /// The records as a batch; none are left, and the next batch can be filled.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] after a record that did not fit; [`Error::Arrow`] if a column has 2 GB or more, which
    /// [`is_full`](Self::is_full) says before it does.
    pub fn finish(&mut self) -> Result<RecordBatch> {
        self.check()?;
        // Some columns are empty then.
        let array = self.column.finish().inspect_err(|_| self.broken = true)?;
        let Some(array) = array.as_any().downcast_ref::<StructArray>() else {
            let message = "a record is no struct".to_owned();
            return Err(ArrowError::SchemaError(message).into());
        };
        let columns = array.columns().to_vec();
        Ok(RecordBatch::try_new(
            Arc::clone(&self.layout.schema()),
            columns,
        )?)
    }

    fn check(&self) -> Result<()> {
        if self.broken {
            return Err(Error::argument(
                "a record did not fit this batch, so it has no records any more: make a new one",
            ));
        }
        Ok(())
    }
}
