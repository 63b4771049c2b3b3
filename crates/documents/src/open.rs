//! Opening files: each format has its reader.

use std::iter;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use ken_corpus::Document;

use crate::archive::{Archive, Open};
use crate::base_url::BaseUrl;
use crate::convert::Converters;
use crate::encoding::Encoding;
use crate::error::ReadError;
use crate::fields::{Kind, Shape};
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
    pdf, rtf, terminal,
};
use ken_corpus::FieldNames;

/// The options and shared state for opening files.
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
            // Counted like files of unknown formats in folders.
            Err(ReadError::UnknownFormat { path }) if file.origin == Origin::Found => {
                self.unread.add(&path);
                Box::new(iter::empty())
            }
            Err(error) => Box::new(iter::once(Err(error))),
        }
    }

    fn records(&self, file: &InputFile) -> Result<Records, ReadError> {
        let watch = &self.watch;
        let place = Place::whole(&file.path);
        let bytes_read = || Arc::clone(&self.bytes_read);
        let source = || Source::open(file, bytes_read(), watch, self.encoding);
        let text = || source()?.read_all();
        let bytes = || source()?.read_bytes();
        let package = |limit| Package::open(file, &self.bytes_read, limit, watch);
        let parts = || package(watch.budget.work());
        let shape = || self.shape(file);
        let whole = |contents| self.whole(file, contents);
        let light = |markup| markup::contents(&text()?, markup, &place, watch);
        if let Some(text) = self.converted(file)? {
            return Ok(whole(markdown::contents(&text, &place, watch)?));
        }
        Ok(match file.format {
            Format::Text => whole(Contents {
                text: terminal::shown(&text()?).into_owned(),
                ..Contents::default()
            }),
            Format::Code => {
                let name = file.path.file_name().unwrap_or_default();
                whole(Contents {
                    title: Some(name.to_string_lossy().into_owned()),
                    text: text()?,
                    ..Contents::default()
                })
            }
            Format::Markdown => whole(markdown::contents(&text()?, &place, watch)?),
            Format::Html => whole(html::contents(&text()?, self.html, watch)?),
            Format::Pdf => whole(pdf::contents(&bytes()?, &file.path, watch)?),
            Format::Docx => whole(office::docx(parts()?, watch)?),
            Format::Pptx => whole(office::pptx(parts()?, watch)?),
            Format::Xlsx => whole(office::xlsx(parts()?, watch)?),
            Format::Odt | Format::Ods | Format::Odp => whole(office::odf(parts()?, watch)?),
            Format::Epub => whole(epub::contents(parts()?, watch)?),
            Format::Rtf => whole(rtf::contents(&bytes()?, &place, watch)?),
            Format::Mail => whole(mail::contents(&bytes()?, &place, &self.inner(), watch)?),
            Format::Notebook => whole(notebook::contents(&text()?, &place, watch)?),
            Format::ReStructuredText => whole(light(Markup::ReStructuredText)?),
            Format::Org => whole(light(Markup::Org)?),
            Format::Tex => whole(light(Markup::Tex)?),
            Format::AsciiDoc => whole(light(Markup::AsciiDoc)?),
            Format::MediaWiki => Box::new(mediawiki::records(source()?)?),
            Format::Mailbox => Box::new(mail::mailbox(source()?, file.id.clone(), self.inner())),
            Format::JsonLines => Box::new(jsonl::records(source()?, shape())),
            Format::Json => {
                let in_folder = file.origin == Origin::Found;
                Box::new(json_array::records(source()?, in_folder, shape())?)
            }
            Format::Csv => Box::new(delimited::records(source()?, b',', shape())?),
            Format::Tsv => Box::new(delimited::records(source()?, b'\t', shape())?),
            Format::Parquet => Box::new(parquet::records(file, bytes_read(), watch, shape())?),
            Format::Zip => {
                let package = package(watch.budget.search())?;
                Box::new(Archive::zip(package, file, &self.unread, self.inner()))
            }
            Format::Tar => Box::new(Archive::tar(source()?, file, &self.unread, self.inner())),
        })
    }

    /// The text that a command writes for the file; `None` if there is no such command.
    fn converted(&self, file: &InputFile) -> Result<Option<String>, ReadError> {
        // A command cannot read a file in an archive.
        let is_file = file.content.is_none() && file.origin != Origin::Stdin;
        let converter = self.converters.of(&file.path).filter(|_| is_file);
        converter
            .map(|converter| self.converters.text(converter, &file.path, &self.watch))
            .transpose()
    }

    fn shape(&self, file: &InputFile) -> Shape {
        Shape {
            names: self.fields.clone(),
            file: file.id.clone(),
            kind: Kind::Unsettled,
        }
    }

    /// The opener of files in an archive or a message, whose bytes count as those of that.
    fn inner(&self) -> Open {
        let opener = Self {
            bytes_read: Arc::default(),
            ..self.clone()
        };
        Box::new(move |file: &InputFile| opener.open(file))
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
