//! Values with parts: lists, tuples, structs, maps.

use serde::{Serialize, ser};

use crate::{
    column::{
        Column, Values,
        capture::{Capture, Caught},
        misfit::Misfit,
        offsets::end,
    },
    magic,
};

/// A value whose parts are being appended.
pub(crate) enum Compound<'c> {
    /// Items of a list, with its column.
    List(&'c mut Column),
    /// Parts of a tuple or fields of a struct.
    Fields(RecordFields<'c>),
    Map(&'c mut Column, String),
    /// A date and the like.
    Captured(&'c mut Column, Capture, Option<Caught>),
    /// Another struct of `bson`.
    Magic(&'c mut Column, &'static str),
    /// A variant without data.
    Nothing,
}

/// The fields of a struct.
pub(crate) struct RecordFields<'c> {
    fields: &'c mut [(String, Column)],
    /// The number of rows that each field has in the end.
    rows: usize,
    /// The field that is expected next.
    next: usize,
    given: usize,
    /// The name of a map's entry.
    name: String,
    time: Option<(usize, i64)>,
}

impl<'c> RecordFields<'c> {
    /// Fields for one more row.
    fn new(fields: &'c mut [(String, Column)], rows: usize, time: Option<(usize, i64)>) -> Self {
        Self {
            fields,
            rows: rows + 1,
            next: 0,
            given: 0,
            name: String::new(),
            time,
        }
    }

    /// The place of a field that has no value in this row yet.
    fn find(&mut self, name: &str) -> Result<usize, Misfit> {
        let expected = self.fields.get(self.next);
        let at = if expected.is_some_and(|(known, _)| known == name) {
            self.next
        } else {
            let found = self.fields.iter().position(|(known, _)| known == name);
            found.ok_or_else(|| {
                let message = "has no column, because no sample has it: pass a record like this one to `sample`";
                Misfit::new(message).inside(name)
            })?
        };
        if self.fields[at].1.len() == self.rows {
            return Err(Misfit::new("is there twice").inside(name));
        }
        self.next = at + 1;
        self.given += 1;
        Ok(at)
    }

    fn push<T: Serialize + ?Sized>(&mut self, name: &str, value: &T) -> Result<(), Misfit> {
        let at = self.find(name)?;
        let column = &mut self.fields[at].1;
        let pushed = match self.time {
            Some((field, millis)) if field == at => column.push_date(millis),
            _ => column.push(value),
        };
        pushed.map_err(|error| error.inside(name))
    }

    /// The next part of a tuple.
    fn push_next<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Misfit> {
        let Some((name, column)) = self.fields.get_mut(self.next) else {
            return Err(Misfit::new(
                "has more parts than a sample: pass a record like this one to `sample`",
            ));
        };
        self.next += 1;
        self.given += 1;
        column.push(value).map_err(|error| error.inside(name))
    }

    /// Fields that were left out are null.
    fn end(self) -> Result<(), Misfit> {
        if self.given < self.fields.len() {
            for (name, column) in self.fields {
                if column.len() < self.rows {
                    column.null().map_err(|error| error.inside(name))?;
                }
            }
        }
        Ok(())
    }
}

impl<'c> Compound<'c> {
    /// The items of a list, or the parts of a tuple.
    pub(super) fn items(column: &'c mut Column) -> Result<Self, Misfit> {
        match &column.values {
            Values::List { .. } => Ok(Self::List(column)),
            // Not into a struct with names of its own: the places of a tuple are not those of its fields.
            Values::Struct(fields) if are_places(fields) => Self::fields(column),
            _ => Err(column.misfit("a list")),
        }
    }

    /// The fields of a struct.
    pub(super) fn fields(column: &'c mut Column) -> Result<Self, Misfit> {
        if !matches!(column.values, Values::Struct(_)) {
            return Err(column.misfit("a struct"));
        }
        let rows = column.len;
        let time = column.time.take();
        column.valid();
        let Values::Struct(fields) = &mut column.values else {
            return Err(Misfit::new("is a struct"));
        };
        Ok(Self::Fields(RecordFields::new(fields, rows, time)))
    }

    /// The entries of a map, which may be the fields of a struct.
    pub(super) fn entries(column: &'c mut Column) -> Result<Self, Misfit> {
        match &column.values {
            Values::Map { .. } => Ok(Self::Map(column, String::new())),
            Values::Struct(_) => Self::fields(column),
            _ => Err(column.misfit("a map")),
        }
    }

    fn item<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Misfit> {
        match self {
            Self::List(column) => {
                let Values::List { items, .. } = &mut column.values else {
                    return Err(column.misfit("a list"));
                };
                items.push(value).map_err(|error| error.inside("[]"))
            }
            Self::Fields(fields) => fields.push_next(value),
            Self::Map(column, _) | Self::Captured(column, ..) | Self::Magic(column, _) => {
                Err(column.misfit("a list"))
            }
            Self::Nothing => Err(Misfit::of_data()),
        }
    }

    fn field<T: Serialize + ?Sized>(
        &mut self,
        name: &'static str,
        value: &T,
    ) -> Result<(), Misfit> {
        match self {
            Self::Fields(fields) => fields.push(name, value),
            Self::Captured(_, capture, caught) => {
                *caught = Some(value.serialize(*capture)?);
                Ok(())
            }
            Self::Magic(column, of) => column.push_magic(of, value),
            Self::List(column) | Self::Map(column, _) => Err(column.misfit("a struct")),
            Self::Nothing => Err(Misfit::of_data()),
        }
    }

    fn finish(self) -> Result<(), Misfit> {
        match self {
            Self::List(column) => {
                if let Values::List { ends, items } = &mut column.values {
                    ends.push(end(items.len));
                }
                column.valid();
                Ok(())
            }
            Self::Map(column, _) => {
                if let Values::Map { ends, values, .. } = &mut column.values {
                    ends.push(end(values.len));
                }
                column.valid();
                Ok(())
            }
            Self::Fields(fields) => fields.end(),
            Self::Captured(column, _, Some(caught)) => column.push_caught(&caught),
            Self::Captured(column, _, None) => Err(column.misfit("an empty value of `bson`")),
            Self::Magic(..) | Self::Nothing => Ok(()),
        }
    }
}

/// Whether these are the parts of a tuple.
fn are_places(fields: &[(String, Column)]) -> bool {
    let mut fields = fields.iter().enumerate();
    fields.all(|(at, (name, _))| {
        // `parse` would also take `+1` and `01`.
        let is_plain = name == "0" || name.starts_with(|first| matches!(first, '1'..='9'));
        is_plain && name.parse() == Ok(at)
    })
}

/// Lists and tuples differ in the names of serde's methods only.
macro_rules! items {
    ($($kind:ident: $method:ident),+) => {$(
        impl ser::$kind for Compound<'_> {
            type Ok = ();
            type Error = Misfit;

            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Misfit> {
                self.item(value)
            }

            fn end(self) -> Result<(), Misfit> {
                self.finish()
            }
        }
    )+};
}

items! {
    SerializeSeq: serialize_element, SerializeTuple: serialize_element, SerializeTupleStruct: serialize_field
}

impl ser::SerializeMap for Compound<'_> {
    type Ok = ();
    type Error = Misfit;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Misfit> {
        let key = magic::name_of(key).map_err(Misfit::new)?;
        match self {
            Self::Map(_, name) => *name = key,
            Self::Fields(fields) => fields.name = key,
            Self::List(column) | Self::Captured(column, ..) | Self::Magic(column, _) => {
                return Err(column.misfit("a map"));
            }
            Self::Nothing => return Err(Misfit::of_data()),
        }
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Misfit> {
        match self {
            Self::Map(column, name) => {
                let Values::Map { keys, values, .. } = &mut column.values else {
                    return Err(column.misfit("a map"));
                };
                keys.push(name.as_bytes());
                values.push(value).map_err(|error| error.inside(name))
            }
            Self::Fields(fields) => {
                let name = std::mem::take(&mut fields.name);
                fields.push(&name, value)
            }
            Self::List(column) | Self::Captured(column, ..) | Self::Magic(column, _) => {
                Err(column.misfit("a map"))
            }
            Self::Nothing => Err(Misfit::of_data()),
        }
    }

    fn end(self) -> Result<(), Misfit> {
        self.finish()
    }
}

impl ser::SerializeStruct for Compound<'_> {
    type Ok = ();
    type Error = Misfit;

    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        name: &'static str,
        value: &T,
    ) -> Result<(), Misfit> {
        self.field(name, value)
    }

    fn end(self) -> Result<(), Misfit> {
        self.finish()
    }
}

/// The data of a variant.
pub(crate) struct VariantData<'c> {
    pub(super) variant: &'static str,
    pub(super) data: Compound<'c>,
}

impl ser::SerializeTupleVariant for VariantData<'_> {
    type Ok = ();
    type Error = Misfit;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Misfit> {
        let pushed = self.data.item(value);
        pushed.map_err(|error| error.inside(self.variant))
    }

    fn end(self) -> Result<(), Misfit> {
        self.data.finish()
    }
}

impl ser::SerializeStructVariant for VariantData<'_> {
    type Ok = ();
    type Error = Misfit;

    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        name: &'static str,
        value: &T,
    ) -> Result<(), Misfit> {
        let pushed = self.data.field(name, value);
        pushed.map_err(|error| error.inside(self.variant))
    }

    fn end(self) -> Result<(), Misfit> {
        self.data.finish()
    }
}
