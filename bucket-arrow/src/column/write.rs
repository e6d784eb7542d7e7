//! Appends a value to a column, as its `Serialize` shows it.

mod compound;

use bucket_mongo::bson::{Bson, Decimal128};
use serde::{Serialize, ser::Serializer};

use self::compound::{Compound, VariantData};
use super::{
    Column, Values,
    capture::{Capture, Caught},
    extended,
    misfit::Misfit,
};
use crate::magic;

impl Column {
    /// Appends a value.
    pub(crate) fn push<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Misfit> {
        let Values::Json(texts) = &mut self.values else {
            return value.serialize(self);
        };
        match extended::json(value)? {
            Some(text) => {
                texts.push(text.as_bytes());
                self.valid();
                Ok(())
            }
            None => self.null(),
        }
    }

    /// Appends a date.
    fn push_date(&mut self, millis: i64) -> Result<(), Misfit> {
        let Values::Date(values) = &mut self.values else {
            return Err(self.misfit("a date"));
        };
        values.push(millis);
        self.valid();
        Ok(())
    }

    /// Appends a null where it may be.
    fn null(&mut self) -> Result<(), Misfit> {
        if self.may_be_null() {
            self.push_null();
            return Ok(());
        }
        Err(Misfit::new(
            "is null, or missing, which no sample of its type was: pass a record like this one to `sample`",
        ))
    }

    #[cold]
    fn misfit(&self, found: &str) -> Misfit {
        let column = self.place.shape.data_type();
        Misfit::new(format!(
            "is {found}, and its column has the type {column}: pass a record like this one to `sample`"
        ))
    }

    fn push_caught(&mut self, caught: &Caught) -> Result<(), Misfit> {
        match (&mut self.values, caught) {
            (Values::Date(values), Caught::Number(millis)) => values.push(*millis),
            (Values::ObjectId(texts), Caught::Id(id)) => texts.push(id),
            (Values::Decimal(texts), Caught::Decimal(decimal)) => {
                let text = decimal.to_string();
                // Not every pattern of bits has a text of its own.
                let read = text.parse::<Decimal128>();
                if read.is_ok_and(|read| read.bytes() == decimal.bytes()) {
                    texts.push(text.as_bytes());
                } else {
                    let message = format!("is a decimal that its text `{text}` would change");
                    return Err(Misfit::new(message));
                }
            }
            (_, Caught::Number(_)) => return Err(self.misfit("a date")),
            (_, Caught::Id(_)) => return Err(self.misfit("an object id")),
            (_, Caught::Decimal(_)) => return Err(self.misfit("a decimal")),
        }
        self.valid();
        Ok(())
    }

    /// Appends a value of a struct of `bson` that is rare.
    fn push_magic<T: Serialize + ?Sized>(
        &mut self,
        name: &'static str,
        value: &T,
    ) -> Result<(), Misfit> {
        let found = extended::bson(&extended::Magic { name, value })?;
        let (Values::Binary { subtypes, bytes }, Bson::Binary(binary)) = (&mut self.values, &found)
        else {
            return Err(self.misfit(&format!("{:?}", found.element_type())));
        };
        subtypes.push(binary.subtype.into());
        bytes.push(&binary.bytes);
        self.valid();
        Ok(())
    }

    /// Begins the data of a variant.
    fn variant(&mut self, name: &str) -> Result<Option<&mut Self>, Misfit> {
        if !matches!(self.values, Values::Enum { .. }) {
            return Err(self.misfit("a variant"));
        }
        let Values::Enum { tags, variants } = &mut self.values else {
            return Err(Misfit::new("is a variant"));
        };
        let Some(at) = variants.iter().position(|(known, _)| known == name) else {
            let message = format!(
                "is the variant `{name}`, which no sample has: pass one to `sample`, or, if it has values of its own type inside, \
                 make the field a column of JSON with `json(path)`"
            );
            return Err(Misfit::new(message));
        };
        tags.push(name.as_bytes());
        self.nulls.append_non_null();
        self.len += 1;
        for (place, (_, data)) in variants.iter_mut().enumerate() {
            if let Some(data) = data
                && place != at
            {
                data.push_null();
            }
        }
        Ok(variants[at].1.as_mut())
    }

    fn variant_with_data(&mut self, name: &str) -> Result<&mut Self, Misfit> {
        let data = self.variant(name)?;
        data.ok_or_else(|| {
            let message = format!(
                "is the variant `{name}` with data, which no sample has: pass one to `sample`"
            );
            Misfit::new(message)
        })
    }
}

impl<'c> Column {
    /// Begins the data of a variant that has parts.
    fn compound_variant(
        &'c mut self,
        variant: &'static str,
        begin: fn(&'c mut Self) -> Result<Compound<'c>, Misfit>,
    ) -> Result<VariantData<'c>, Misfit> {
        let data = match self.variant(variant)? {
            Some(data) => begin(data)?,
            None => Compound::Nothing,
        };
        Ok(VariantData { variant, data })
    }
}

macro_rules! numbers {
    ($($method:ident: $values:ident, $ty:ty, $found:literal);+ $(;)?) => {$(
        fn $method(self, value: $ty) -> Result<(), Misfit> {
            let Values::$values(values) = &mut self.values else {
                return Err(self.misfit($found));
            };
            values.push(value);
            self.valid();
            Ok(())
        }
    )+};
}

impl<'c> Serializer for &'c mut Column {
    type Ok = ();
    type Error = Misfit;
    type SerializeSeq = Compound<'c>;
    type SerializeTuple = Compound<'c>;
    type SerializeTupleStruct = Compound<'c>;
    type SerializeTupleVariant = VariantData<'c>;
    type SerializeMap = Compound<'c>;
    type SerializeStruct = Compound<'c>;
    type SerializeStructVariant = VariantData<'c>;

    numbers! {
        serialize_i8: Int8, i8, "an 8-bit number";
        serialize_i16: Int16, i16, "a 16-bit number";
        serialize_i32: Int32, i32, "a 32-bit number";
        serialize_i64: Int64, i64, "a 64-bit number";
        serialize_u8: UInt8, u8, "an unsigned 8-bit number";
        serialize_u16: UInt16, u16, "an unsigned 16-bit number";
        serialize_u32: UInt32, u32, "an unsigned 32-bit number";
        serialize_u64: UInt64, u64, "an unsigned 64-bit number";
        serialize_f32: Float32, f32, "a 32-bit float";
        serialize_f64: Float64, f64, "a float";
    }

    fn is_human_readable(&self) -> bool {
        false
    }

    fn serialize_bool(self, value: bool) -> Result<(), Misfit> {
        let Values::Bool(values) = &mut self.values else {
            return Err(self.misfit("a boolean"));
        };
        values.append(value);
        self.valid();
        Ok(())
    }

    fn serialize_char(self, value: char) -> Result<(), Misfit> {
        self.serialize_str(value.encode_utf8(&mut [0; 4]))
    }

    fn serialize_str(self, text: &str) -> Result<(), Misfit> {
        let Values::Text(texts) = &mut self.values else {
            return Err(self.misfit("a text"));
        };
        texts.push(text.as_bytes());
        self.valid();
        Ok(())
    }

    fn serialize_bytes(self, bytes: &[u8]) -> Result<(), Misfit> {
        match &mut self.values {
            Values::Bytes(texts) => texts.push(bytes),
            // The generic subtype is none where values with another one were seen.
            Values::Binary {
                subtypes,
                bytes: to,
            } => {
                subtypes.push(0);
                to.push(bytes);
            }
            _ => return Err(self.misfit("binary data")),
        }
        self.valid();
        Ok(())
    }

    fn serialize_none(self) -> Result<(), Misfit> {
        self.null()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Misfit> {
        self.push(value)
    }

    fn serialize_unit(self) -> Result<(), Misfit> {
        self.null()
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<(), Misfit> {
        self.null()
    }

    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
    ) -> Result<(), Misfit> {
        match self.variant(variant)? {
            None => Ok(()),
            Some(data) => {
                data.push_null();
                Ok(())
            }
        }
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        value: &T,
    ) -> Result<(), Misfit> {
        if magic::newtype(name).is_none() {
            return self.push(value);
        }
        let Bson::Binary(binary) = extended::bson(&extended::Newtype { name, value })? else {
            return Err(self.misfit("a type of `bson`"));
        };
        let uuid = binary.to_uuid().map_err(|_| self.misfit("a uuid"))?;
        let Values::Uuid(texts) = &mut self.values else {
            return Err(self.misfit("a uuid"));
        };
        texts.push(uuid.to_string().as_bytes());
        self.valid();
        Ok(())
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<(), Misfit> {
        let data = self.variant_with_data(variant)?;
        data.push(value).map_err(|error| error.inside(variant))
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Compound<'c>, Misfit> {
        Compound::items(self)
    }

    fn serialize_tuple(self, _: usize) -> Result<Compound<'c>, Misfit> {
        Compound::items(self)
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Compound<'c>, Misfit> {
        Compound::items(self)
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<VariantData<'c>, Misfit> {
        self.compound_variant(variant, Compound::items)
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Compound<'c>, Misfit> {
        Compound::entries(self)
    }

    fn serialize_struct(self, name: &'static str, _: usize) -> Result<Compound<'c>, Misfit> {
        match name {
            "$date" => Ok(Compound::Captured(self, Capture::Date, None)),
            "$oid" => Ok(Compound::Captured(self, Capture::ObjectId, None)),
            "$numberDecimal" => Ok(Compound::Captured(self, Capture::Decimal, None)),
            _ if magic::structure(name).is_some() => Ok(Compound::Magic(self, name)),
            _ => Compound::fields(self),
        }
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<VariantData<'c>, Misfit> {
        self.compound_variant(variant, Compound::fields)
    }
}
