//! The elements of embedded documents and arrays.

use serde::{
    Serialize,
    ser::{
        SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple,
        SerializeTupleStruct, SerializeTupleVariant,
    },
};

use super::{Encoder, Error, kind, special::Special};

/// A document or an array that is being written; around that of a variant there is a document with
/// the variant's name.
#[derive(Debug)]
pub(crate) struct Elements<'e, 'a> {
    encoder: &'e mut Encoder<'a>,
    start: usize,
    around: Option<usize>,
    count: usize,
}

impl<'e, 'a> Elements<'e, 'a> {
    #[inline]
    pub(super) fn begin(encoder: &'e mut Encoder<'a>, kind: u8) -> Self {
        encoder.kind(kind);
        let start = encoder.begin();
        Self {
            encoder,
            start,
            around: None,
            count: 0,
        }
    }

    #[inline]
    pub(super) fn begin_variant(
        encoder: &'e mut Encoder<'a>,
        variant: &'static str,
        kind: u8,
    ) -> Result<Self, Error> {
        encoder.kind(kind::DOCUMENT);
        let around = encoder.begin();
        encoder.name(variant)?;
        Ok(Self {
            around: Some(around),
            ..Self::begin(encoder, kind)
        })
    }

    #[inline]
    fn named<T: Serialize + ?Sized>(&mut self, name: &str, value: &T) -> Result<(), Error> {
        self.encoder.name(name)?;
        value.serialize(&mut *self.encoder)
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

impl SerializeStructVariant for Elements<'_, '_> {
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
        self.finish();
        Ok(())
    }
}

impl SerializeMap for Elements<'_, '_> {
    type Ok = ();
    type Error = Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Error> {
        self.encoder.key(key)
    }

    #[inline]
    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        value.serialize(&mut *self.encoder)
    }

    #[inline]
    fn end(self) -> Result<(), Error> {
        self.finish();
        Ok(())
    }
}

/// The fields of a struct.
#[derive(Debug)]
pub(crate) enum StructElements<'e, 'a> {
    Document(Elements<'e, 'a>),
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
            Self::Document(elements) => elements.named(name, value),
            Self::Special(special) => special.field(name, value),
        }
    }

    #[inline]
    fn end(self) -> Result<(), Error> {
        match self {
            Self::Document(elements) => elements.finish(),
            Self::Special(special) => special.finish()?,
        }
        Ok(())
    }
}
