//! The steps of answering, in the order in which a question passes through them; each is a method of the pipeline,
//! which [`Pipeline::answer_many`](crate::Pipeline::answer_many) calls for all questions at once.

mod gather;
pub(crate) mod list;
mod neighbors;
mod off_topic;
mod review;
pub(crate) mod route;
pub(crate) mod text;
pub(crate) mod verbalize;
pub(crate) mod vouch;
mod window;
mod write;
