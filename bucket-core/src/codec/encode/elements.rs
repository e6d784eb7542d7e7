//! The elements of embedded documents and arrays.

use serde::{
    Serialize,
    ser::{
        SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple,
        SerializeTupleStruct, SerializeTupleVariant,
    },
};

use super::{Constants, DataNames, Encoder, Error, Refusal, kind, special::Special};

/// An array in progress. For a variant, a document with the variant's name surrounds it.
#[derive(Debug)]
pub(crate) struct Elements<'e, 'a> {
    encoder: &'e mut Encoder<'a>,
    start: usize,
    around: Option<usize>,
    count: usize,
}

impl<'e, 'a> Elements<'e, 'a> {
    #[inline]
    pub(super) fn begin(encoder: &'e mut Encoder<'a>, kind: u8) -> Result<Self, Error> {
        Self::begin_within(encoder, None, kind)
    }

    #[inline]
    pub(super) fn begin_within(
        encoder: &'e mut Encoder<'a>,
        around: Option<usize>,
        kind: u8,
    ) -> Result<Self, Error> {
        encoder.kind(kind);
        let start = encoder.begin()?;
        Ok(Self {
            encoder,
            start,
            around,
            count: 0,
        })
    }

    #[inline]
    fn next<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        self.encoder.index(self.count);
        self.count += 1;
        value.serialize(&mut *self.encoder)
    }

    #[inline]
    fn finish(self) {
        self.encoder.end(self.start);
        if let Some(around) = self.around {
            self.encoder.end(around);
        }
    }
}

macro_rules! sequences {
    ($($form:ident :: $method:ident),+ $(,)?) => {$(
        impl $form for Elements<'_, '_> {
            type Ok = ();
            type Error = Error;

            #[inline]
            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
                self.next(value)
            }

            #[inline]
            fn end(self) -> Result<(), Error> {
                self.finish();
                Ok(())
            }
        }
    )+};
}

sequences! {
    SerializeSeq::serialize_element, SerializeTuple::serialize_element,
    SerializeTupleStruct::serialize_field, SerializeTupleVariant::serialize_field,
}

/// The entries of a map, whose names are data.
#[derive(Debug)]
pub(crate) struct Entries<'e, 'a> {
    encoder: &'e mut Encoder<'a>,
    start: usize,
    names: DataNames,
}

impl<'e, 'a> Entries<'e, 'a> {
    #[inline]
    pub(super) fn begin(encoder: &'e mut Encoder<'a>) -> Result<Self, Error> {
        encoder.kind(kind::DOCUMENT);
        let start = encoder.begin()?;
        Ok(Self {
            encoder,
            start,
            names: DataNames::default(),
        })
    }
}

impl SerializeMap for Entries<'_, '_> {
    type Ok = ();
    type Error = Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Error> {
        self.encoder.key(key)?;
        self.encoder.written_name(&mut self.names, self.start)
    }

    #[inline]
    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        value.serialize(&mut *self.encoder)
    }

    #[inline]
    fn end(self) -> Result<(), Error> {
        self.encoder.all_written(&self.names, self.start)?;
        self.encoder.end(self.start);
        Ok(())
    }
}

/// The fields of a struct, whose names are constants. For a variant, a document with the variant's
/// name surrounds them.
#[derive(Debug)]
pub(crate) struct Fields<'e, 'a> {
    encoder: &'e mut Encoder<'a>,
    start: usize,
    around: Option<usize>,
    names: Constants,
}

impl<'e, 'a> Fields<'e, 'a> {
    #[inline]
    pub(super) fn begin(encoder: &'e mut Encoder<'a>) -> Result<Self, Error> {
        Self::begin_within(encoder, None)
    }

    #[inline]
    pub(super) fn begin_within(
        encoder: &'e mut Encoder<'a>,
        around: Option<usize>,
    ) -> Result<Self, Error> {
        encoder.kind(kind::DOCUMENT);
        let start = encoder.begin()?;
        Ok(Self {
            encoder,
            start,
            around,
            names: Constants::default(),
        })
    }

    #[inline]
    fn named<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<(), Error> {
        self.names.add(name);
        self.encoder.name(name)?;
        value.serialize(&mut *self.encoder)
    }

    #[inline]
    fn finish(self) -> Result<(), Error> {
        self.encoder.all_constants(self.names, self.start)?;
        self.encoder.end(self.start);
        if let Some(around) = self.around {
            self.encoder.end(around);
        }
        Ok(())
    }
}

impl SerializeStructVariant for Fields<'_, '_> {
    type Ok = ();
    type Error = Error;

    #[inline]
    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        name: &'static str,
        value: &T,
    ) -> Result<(), Error> {
        self.named(name, value)
    }

    #[inline]
    fn end(self) -> Result<(), Error> {
        self.finish()
    }
}

/// The fields of a struct.
#[derive(Debug)]
pub(crate) enum StructElements<'e, 'a> {
    Document(Fields<'e, 'a>),
    Special(Special<'e, 'a>),
}

impl SerializeStruct for StructElements<'_, '_> {
    type Ok = ();
    type Error = Error;

    #[inline]
    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        name: &'static str,
        value: &T,
    ) -> Result<(), Error> {
        match self {
            Self::Document(fields) => fields.named(name, value),
            Self::Special(special) => special.field(name, value),
        }
    }

    #[inline]
    fn end(self) -> Result<(), Error> {
        match self {
            Self::Document(fields) => fields.finish(),
            Self::Special(special) => special.finish(),
        }
    }
}

impl Encoder<'_> {
    /// Records the name of the element that was just begun.
    ///
    /// # Errors
    ///
    /// If the document already has the name.
    pub(crate) fn written_name(
        &mut self,
        names: &mut DataNames,
        start: usize,
    ) -> Result<(), Error> {
        let (before, name) = self.last_name();
        if names.has(name, before, start) {
            let name = String::from_utf8_lossy(name).into_owned();
            return Err(self.repeats(&name));
        }
        Ok(())
    }

    /// The bytes before the element that was just begun, and its name.
    pub(crate) fn last_name(&self) -> (&[u8], &[u8]) {
        let (before, element) = self.bytes.split_at(self.type_at.min(self.bytes.len()));
        // Between its type and its NUL.
        let name = element.get(1..element.len().max(2) - 1);
        (before, name.unwrap_or_default())
    }

    /// Removes the element that was just begun.
    pub(crate) fn take_back(&mut self) {
        self.bytes.truncate(self.type_at);
    }

    /// Checks the names after all entries of the map that began at `start` are written.
    ///
    /// # Errors
    ///
    /// If a name appears twice.
    pub(crate) fn all_written(&mut self, names: &DataNames, start: usize) -> Result<(), Error> {
        let repeated = names.repeated(self.bytes, start);
        let repeated = repeated.map(|name| String::from_utf8_lossy(name).into_owned());
        repeated.map_or(Ok(()), |name| Err(self.repeats(&name)))
    }

    /// Checks the names after all fields of the struct that began at `start` are written.
    ///
    /// # Errors
    ///
    /// If a name appears twice.
    #[inline]
    pub(crate) fn all_constants(&mut self, names: Constants, start: usize) -> Result<(), Error> {
        match self.known.repeated(names, self.bytes, start) {
            None => Ok(()),
            Some(name) => {
                let name = String::from_utf8_lossy(name).into_owned();
                Err(self.repeats(&name))
            }
        }
    }

    /// The error for a name that its document already has.
    #[cold]
    pub(crate) fn repeats(&mut self, name: &str) -> Error {
        self.findings.refuse(Refusal::Repeated(name.to_owned()))
    }
}
