//! The columns of a record type.

mod traced;

use std::{fmt, marker::PhantomData, sync::Arc};

use arrow_schema::{Schema, SchemaRef};
use bucket_mongo::Record;

use self::traced::traced;
use crate::{
    Error, Result,
    shape::{Place, Shape, observe},
    trace::ANY_KEY,
};

/// The number of lists, maps and structs inside of each other that a column may have. A type inside of itself that has no name
/// shows more, and no reader would want a column of each level.
const MOST_LEVELS: usize = 20;

/// The columns of a record type.
///
/// They follow from the type, not from the records: each export of a model has the same ones. A field that serde's
/// attributes rename or leave out is a column as they say.
///
/// ```
/// use bucket_arrow::Layout;
/// use bucket_mongo::{Bucketed, bson::DateTime};
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Serialize, Deserialize, Bucketed)]
/// #[bucket(collection = "readings", items = "readings", window = "1h")]
/// struct Reading {
///     #[bucket(key)]
///     sensor_id: i64,
///     #[bucket(time)]
///     at: DateTime,
///     celsius: Option<f64>,
/// }
///
/// # fn main() -> bucket_arrow::Result<()> {
/// let layout = Layout::<Reading>::new()?;
/// let at = DateTime::from_millis(0);
///
/// let mut batch = layout.batch();
/// batch.push(&Reading { sensor_id: 7, at, celsius: Some(21.5) })?;
/// batch.push(&Reading { sensor_id: 7, at, celsius: None })?;
/// let batch = batch.finish()?;
///
/// assert_eq!(batch.schema().field(0).name(), "sensor_id");
/// assert_eq!((batch.num_rows(), batch.column(2).null_count()), (2, 1));
/// # Ok(())
/// # }
/// ```
pub struct Layout<T> {
    root: Arc<Place>,
    schema: SchemaRef,
    /// The number of the column of the time.
    time: usize,
    record: PhantomData<fn() -> T>,
}

impl<T> Clone for Layout<T> {
    fn clone(&self) -> Self {
        Self {
            root: Arc::clone(&self.root),
            schema: Arc::clone(&self.schema),
            ..*self
        }
    }
}

impl<T> fmt::Debug for Layout<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Layout")
            .field("schema", &self.schema)
            .finish_non_exhaustive()
    }
}

impl<T: Record> Layout<T> {
    /// The columns of the type.
    ///
    /// # Errors
    ///
    /// [`Error::Schema`] if no sample of the type can be made; see [`LayoutBuilder::sample`].
    ///
    /// ```
    /// # use bucket_arrow::{Layout, Result};
    /// # use bucket_mongo::Bucketed;
    /// fn names<T: Bucketed>() -> Result<Vec<String>> {
    ///     let layout = Layout::<T>::new()?;
    ///     Ok(layout.schema().fields().iter().map(|field| field.name().clone()).collect())
    /// }
    /// ```
    pub fn new() -> Result<Self> {
        Self::builder().build()
    }

    /// The columns of the type, with samples or other settings.
    ///
    /// ```
    /// # use bucket_arrow::{Layout, Result};
    /// # use bucket_mongo::Bucketed;
    /// fn of_payments<T: Bucketed>() -> Result<Layout<T>> {
    ///     Layout::builder().json("details").build()
    /// }
    /// ```
    pub fn builder() -> LayoutBuilder<T> {
        LayoutBuilder {
            samples: Ok(None),
            json: Vec::new(),
            record: PhantomData,
        }
    }

    /// The columns, as Arrow describes them.
    #[must_use]
    pub fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    pub(crate) fn root(&self) -> &Place {
        &self.root
    }

    pub(crate) const fn time(&self) -> usize {
        self.time
    }
}

/// The settings of a [`Layout`]; see [`Layout::builder`].
///
/// ```
/// use bucket_arrow::{Layout, Result};
/// use bucket_mongo::Bucketed;
///
/// fn of_events<T: Bucketed>(login: &T, purchase: &T) -> Result<Layout<T>> {
///     Layout::builder().sample(login).sample(purchase).json("details").build()
/// }
/// ```
#[must_use = "nothing is made until `build` is called"]
pub struct LayoutBuilder<T> {
    /// What the given samples are.
    samples: Result<Option<Place>>,
    json: Vec<String>,
    record: PhantomData<fn() -> T>,
}

impl<T> fmt::Debug for LayoutBuilder<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LayoutBuilder")
            .field("json", &self.json)
            .finish_non_exhaustive()
    }
}

impl<T: Record> LayoutBuilder<T> {
    /// Adds what this record shows.
    ///
    /// A type makes its own samples, by what its `Deserialize` asks for. It cannot if it reads only certain texts or numbers
    /// of its own, or through an enum without a tag outside of its variants. Pass records that have each option, each list and
    /// each variant once; values that differ in their type are columns of JSON.
    pub fn sample(mut self, record: &T) -> Self {
        self.samples = self.samples.and_then(|before| {
            let shown =
                observe(record, true).map_err(|error| schema::<T>(String::new(), error.0))?;
            Ok(Some(match before {
                None => shown,
                Some(before) => before.join(shown),
            }))
        });
        self
    }

    /// Makes the field at this path (`details`, `device.details`) a column of canonical extended JSON, whatever it is.
    pub fn json(mut self, path: impl Into<String>) -> Self {
        self.json.push(path.into());
        self
    }

    /// The columns.
    ///
    /// # Errors
    ///
    /// [`Error::Schema`] if no sample of the type can be made and none is given, or if the type is not serialised as a struct;
    /// [`Error::InvalidArgument`] if no field has the path of a [`json`](Self::json).
    pub fn build(self) -> Result<Layout<T>> {
        let given = self.samples?;
        let place = match (traced::<T>(), given) {
            (Ok(traced), Some(given)) => traced.join(given),
            (Ok(place), None) | (Err(_), Some(place)) => place,
            (Err(untraceable), None) => {
                let message = format!(
                    "no sample of its type can be made ({}): pass a record to `sample`",
                    untraceable.message
                );
                return Err(schema::<T>(untraceable.path, message));
            }
        };
        let mut place = place.settled();
        let Shape::Struct(fields) = &mut place.shape else {
            let message = "it is not serialised as a struct".to_owned();
            return Err(schema::<T>(String::new(), message));
        };
        fields.retain(|(name, _)| name != ANY_KEY);
        for (_, field) in fields.iter_mut() {
            if field.shape.levels() > MOST_LEVELS {
                field.shape = Shape::Json;
                field.null = true;
            }
        }
        let name = T::SPEC.time().name;
        let Some(time) = fields.iter().position(|(field, _)| field == name) else {
            let message = "its `Serialize` leaves the time out".to_owned();
            return Err(schema::<T>(name.to_owned(), message));
        };
        fields[time].1 = Place::of(Shape::Date);
        place.null = false;
        for path in &self.json {
            let Some(field) = at_path(&mut place, path) else {
                let message = format!(
                    "`{}` has no field `{path}` to be a column of JSON",
                    T::SPEC.record()
                );
                return Err(Error::argument(message));
            };
            field.shape = Shape::Json;
        }
        let Shape::Struct(fields) = &place.shape else {
            return Err(Error::argument("the time cannot be a column of JSON"));
        };
        if fields[time].1.shape != Shape::Date {
            return Err(Error::argument("the time cannot be a column of JSON"));
        }
        let columns: Vec<_> = fields
            .iter()
            .map(|(name, place)| place.field(name))
            .collect();
        Ok(Layout {
            schema: Arc::new(Schema::new(columns)),
            root: Arc::new(place),
            time,
            record: PhantomData,
        })
    }
}

fn schema<T: Record>(field: String, message: String) -> Error {
    Error::Schema {
        record: T::SPEC.record(),
        field,
        message,
    }
}

/// The field at a path of names.
fn at_path<'p>(place: &'p mut Place, path: &str) -> Option<&'p mut Place> {
    let (name, rest) = match path.split_once('.') {
        None => (path, None),
        Some((name, rest)) => (name, Some(rest)),
    };
    let Shape::Struct(fields) = &mut place.shape else {
        return None;
    };
    let (_, field) = fields.iter_mut().find(|(field, _)| field == name)?;
    match rest {
        None => Some(field),
        Some(rest) => at_path(field, rest),
    }
}
