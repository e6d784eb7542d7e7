//! Methods of serializers that take one simple value only.

/// Refuses every value with parts but a struct, and what has a value inside.
macro_rules! refuse_parts {
    ($ok:ty, $error:ty, $refusal:expr) => {
        type SerializeSeq = serde::ser::Impossible<$ok, $error>;
        type SerializeTuple = serde::ser::Impossible<$ok, $error>;
        type SerializeTupleStruct = serde::ser::Impossible<$ok, $error>;
        type SerializeTupleVariant = serde::ser::Impossible<$ok, $error>;
        type SerializeMap = serde::ser::Impossible<$ok, $error>;
        type SerializeStructVariant = serde::ser::Impossible<$ok, $error>;

        fn serialize_some<T: serde::Serialize + ?Sized>(self, _: &T) -> Result<$ok, $error> {
            Err($refusal)
        }

        fn serialize_newtype_variant<T: serde::Serialize + ?Sized>(
            self,
            _: &'static str,
            _: u32,
            _: &'static str,
            _: &T,
        ) -> Result<$ok, $error> {
            Err($refusal)
        }

        fn serialize_seq(self, _: Option<usize>) -> Result<Self::SerializeSeq, $error> {
            Err($refusal)
        }

        fn serialize_tuple(self, _: usize) -> Result<Self::SerializeTuple, $error> {
            Err($refusal)
        }

        fn serialize_tuple_struct(
            self,
            _: &'static str,
            _: usize,
        ) -> Result<Self::SerializeTupleStruct, $error> {
            Err($refusal)
        }

        fn serialize_tuple_variant(
            self,
            _: &'static str,
            _: u32,
            _: &'static str,
            _: usize,
        ) -> Result<Self::SerializeTupleVariant, $error> {
            Err($refusal)
        }

        fn serialize_map(self, _: Option<usize>) -> Result<Self::SerializeMap, $error> {
            Err($refusal)
        }

        fn serialize_struct_variant(
            self,
            _: &'static str,
            _: u32,
            _: &'static str,
            _: usize,
        ) -> Result<Self::SerializeStructVariant, $error> {
            Err($refusal)
        }
    };
}

pub(crate) use refuse_parts;
