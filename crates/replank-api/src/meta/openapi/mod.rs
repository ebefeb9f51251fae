//! OpenAPI: `/openapi/v2` and `/openapi/v3`, made from the tables of what is served and from the definitions' schemas.

mod built_in;
mod custom;
mod document;
mod operation;
mod proto;
mod serving;
mod shape;

pub(crate) use serving::Documents;
