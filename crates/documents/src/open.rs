//! Opening files: each format has its reader.

use std::iter;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use ken_corpus::Document;

use crate::archive::Archive;
use crate::base_url::BaseUrl;
use crate::convert::Converters;
use crate::encoding::Encoding;
use crate::error::ReadError;
use crate::fields::Shape;
use crate::files::{InputFile, Origin};
use crate::format::{Format, stem};
use crate::html::HtmlPart;
use crate::markup::{self, Markup};
use crate::notice::NoticeKind;
use crate::package::Package;
use crate::place::Place;
use crate::record::{Contents, Record, Records};
use crate::source::Source;
use crate::unread::Unread;
use crate::watch::Watch;
use crate::{
    delimited, epub, html, json_array, jsonl, mail, markdown, mediawiki, notebook, office, parquet,
    pdf, rtf,
};
use ken_corpus::FieldNames;

/// What opening a file takes.
#[derive(Clone)]
pub(crate) struct Opener {
    pub(crate) bytes_read: Arc<AtomicU64>,
    pub(crate) unread: Unread,
    pub(crate) watch: Watch,
    pub(crate) encoding: Option<Encoding>,
    pub(crate) fields: FieldNames,
    pub(crate) html: HtmlPart,
    pub(crate) base_url: Option<BaseUrl>,
    pub(crate) converters: Arc<Converters>,
}

impl Opener {
    /// The documents of a file, or the error that it cannot be opened.
    pub(crate) fn open(&self, file: &InputFile) -> Records {
        match self.records(file) {
            Ok(records) => records,
            // Like files of unknown formats in folders.
            Err(ReadError::UnknownFormat { path }) if file.origin == Origin::Found => {
                self.unread.add(&path);
                Box::new(iter::empty())
            }
            Err(error) => Box::new(iter::once(Err(error))),
        }
    }

    fn records(&self, file: &InputFile) -> Result<Records, ReadError> {
        let (watch, bytes_read) = (&self.watch, &self.bytes_read);
        let source = || Source::open(file, Arc::clone(bytes_read), watch, self.encoding);
        let shape = || {
            Arc::new(Shape {
                names: self.fields.clone(),
                file: file.id.clone(),
            })
        };
        let package = || Package::open(file, bytes_read, watch.budget.work(), watch);
        let place = Place::whole(&file.path);
        let light = |markup| {
            let text = source()?.read_all()?;
            Ok::<_, ReadError>(self.whole(file, markup::contents(&text, markup, &place, watch)?))
        };
        // The files in an archive are counted with it.
        let inner = || {
            let opener = Self {
                bytes_read: Arc::default(),
                ..self.clone()
            };
            Box::new(move |file: &InputFile| opener.open(file))
        };
        // What is in an archive is no file that a command could read.
        let is_file = file.content.is_none() && file.origin != Origin::Stdin;
        if let Some(converter) = self.converters.of(&file.path).filter(|_| is_file) {
            let text = self.converters.text(converter, &file.path, watch)?;
            return Ok(self.whole(file, markdown::contents(&text, &place, watch)?));
        }
        Ok(match file.format {
            Format::Text => {
                let text = source()?.read_all()?;
                self.whole(
                    file,
                    Contents {
                        text,
                        ..Contents::default()
                    },
                )
            }
            Format::Code => {
                let text = source()?.read_all()?;
                let name = file.path.file_name().unwrap_or_default();
                let title = Some(name.to_string_lossy().into_owned());
                self.whole(
                    file,
                    Contents {
                        title,
                        text,
                        ..Contents::default()
                    },
                )
            }
            Format::Markdown => self.whole(
                file,
                markdown::contents(&source()?.read_all()?, &place, watch)?,
            ),
            Format::Html => self.whole(
                file,
                html::contents(&source()?.read_all()?, self.html, watch)?,
            ),
            Format::Pdf => self.whole(
                file,
                pdf::contents(&source()?.read_bytes()?, &file.path, watch)?,
            ),
            Format::JsonLines => Box::new(jsonl::records(source()?, shape())),
            Format::Csv => Box::new(delimited::records(source()?, b',', shape())?),
            Format::Tsv => Box::new(delimited::records(source()?, b'\t', shape())?),
            Format::Parquet => Box::new(parquet::records(
                file,
                Arc::clone(bytes_read),
                watch,
                shape(),
            )?),
            Format::MediaWiki => Box::new(mediawiki::records(source()?)?),
            Format::Docx => self.whole(file, office::docx(package()?, watch)?),
            Format::Pptx => self.whole(file, office::pptx(package()?, watch)?),
            Format::Xlsx => self.whole(file, office::xlsx(package()?, watch)?),
            Format::Odt | Format::Ods | Format::Odp => {
                self.whole(file, office::odf(package()?, watch)?)
            }
            Format::Epub => self.whole(file, epub::contents(package()?, watch)?),
            Format::Rtf => self.whole(
                file,
                rtf::contents(&source()?.read_bytes()?, &place, watch)?,
            ),
            Format::Mail => self.whole(
                file,
                mail::contents(&source()?.read_bytes()?, &place, watch)?,
            ),
            Format::Mailbox => Box::new(mail::mailbox(source()?, file.id.clone())),
            Format::Notebook => self.whole(
                file,
                notebook::contents(&source()?.read_all()?, &place, watch)?,
            ),
            Format::ReStructuredText => light(Markup::ReStructuredText)?,
            Format::Org => light(Markup::Org)?,
            Format::Tex => light(Markup::Tex)?,
            Format::AsciiDoc => light(Markup::AsciiDoc)?,
            Format::Json => Box::new(json_array::records(
                source()?,
                file.origin == Origin::Found,
                shape(),
            )?),
            Format::Zip => {
                let limit = watch.budget.search();
                let package = Package::open(file, bytes_read, limit, watch)?;
                Box::new(Archive::zip(package, file, &self.unread, inner()))
            }
            Format::Tar => Box::new(Archive::tar(source()?, file, &self.unread, inner())),
        })
    }

    /// The one document of a file.
    fn whole(&self, file: &InputFile, mut contents: Contents) -> Records {
        if let Some(base) = &self.base_url {
            let url = contents.metadata.entry("url");
            url.or_insert_with(|| base.of(&file.id).into());
        }
        if contents.text.trim().is_empty() {
            let path = file.path.clone();
            self.watch.notices.add(path, NoticeKind::WithoutText);
        }
        let document = Document {
            id: file.id.clone(),
            title: contents.title.unwrap_or_else(|| stem(&file.path)),
            text: contents.text,
            metadata: contents.metadata,
            outline: contents.outline,
            ..Document::default()
        };
        let place = Place::whole(&file.path);
        Box::new(iter::once(Ok(Record { document, place })))
    }
}
