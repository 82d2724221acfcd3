//! Objects that are written, for programs without an asynchronous runtime.

use std::fs::File;
use std::io::Read as _;
use std::path::Path as FilePath;
use std::sync::Arc;

use futures_util::{StreamExt as _, stream};
use meshmap_url::RemoteUrl;
use object_store::path::Path;
use object_store::{
    Attribute, AttributeValue, Attributes, GetOptions, MultipartUpload, ObjectStore,
    ObjectStoreExt as _, PutMultipartOptions, PutOptions, PutPayload,
};
use tokio::runtime::Runtime;

use crate::address::parse;
use crate::blocking::{Blocking, BlockingList};
use crate::error::{Error, Result};
use crate::fetch::{Settings, brief, identity};
use crate::shared;

/// A folder of a store in which objects are written: every object whose URL begins with the folder's.
///
/// Not for use within a runtime of tokio, whose threads must not block.
#[derive(Clone)]
pub struct Bucket {
    address: RemoteUrl,
    store: Arc<dyn ObjectStore>,
    /// The path of the folder in the store.
    folder: Path,
    settings: Settings,
    runtime: Arc<Runtime>,
}

/// An object, without its bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// Its length in bytes.
    pub bytes: u64,
    /// A text that no other version of the object has; see [`Blocking::version`].
    pub version: Option<String>,
    /// The metadata that it was written with: names and values.
    pub metadata: Vec<(String, String)>,
}

/// Longer files are written in parts, so that no request is longer, and none is repeated whole.
const LONGEST_PUT: u64 = 16 << 20;

/// The most parts of an object. S3 has 10,000.
const MOST_PARTS: u64 = 9000;

/// Requests for heads at a time.
const HEADS: usize = 16;

impl Bucket {
    /// A folder of S3 (`s3://bucket/folder/`), Google Cloud (`gs://`) or Azure (`az://`), as far as the features of the package go.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Address`] for an address of anything else, and [`Error::Runtime`].
    pub fn at(address: impl Into<RemoteUrl>, settings: Settings) -> Result<Self> {
        let address = address.into();
        let place = parse(&address, &settings, true)?;
        if place.pages.is_none() {
            return Err(Error::Address {
                address,
                what: "objects are written to stores only, such as s3://bucket/folder/".to_owned(),
            });
        }
        Ok(Self {
            address,
            store: place.store,
            folder: place.path,
            settings,
            runtime: shared::runtime()?,
        })
    }

    /// The URL of the folder.
    #[must_use]
    pub fn address(&self) -> &RemoteUrl {
        &self.address
    }

    /// The key of an object at a path below the folder.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Address`] for a path that no key can have, such as one with an empty part.
    pub fn key(&self, below: &str) -> Result<String> {
        Ok(self.path(below)?.to_string())
    }

    fn path(&self, below: &str) -> Result<Path> {
        let whole = match self.folder.as_ref() {
            "" => below.to_owned(),
            folder => format!("{folder}/{below}"),
        };
        Path::parse(whole).map_err(|error| Error::Address {
            address: self.address.clone(),
            what: error.to_string(),
        })
    }

    /// Writes a file to an object, which is complete or absent: nobody sees a part of it. Memory is taken for one part of the file.
    ///
    /// Returns the version of the object.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Store`] if the file cannot be read, or if the store does not take it.
    pub fn put_file(
        &self,
        below: &str,
        file: &FilePath,
        metadata: &[(String, String)],
    ) -> Result<Option<String>> {
        let path = self.path(below)?;
        let mut attributes = Attributes::new();
        for (name, value) in metadata {
            let value = AttributeValue::from(value.clone());
            attributes.insert(Attribute::Metadata(name.clone().into()), value);
        }
        let mut file = Parts::open(file).map_err(|error| self.store_error(error))?;
        let put = async {
            if file.length <= LONGEST_PUT {
                let options = PutOptions {
                    attributes,
                    ..PutOptions::default()
                };
                self.settings.wait_for_turn().await;
                return self.store.put_opts(&path, file.next()?, options).await;
            }
            let options = PutMultipartOptions {
                attributes,
                ..PutMultipartOptions::default()
            };
            self.settings.wait_for_turn().await;
            let mut upload = self.store.put_multipart_opts(&path, options).await?;
            match self.put_parts(&mut *upload, &mut file).await {
                Ok(done) => Ok(done),
                Err(error) => {
                    // Parts of an upload that is not completed are kept, and paid for.
                    drop(upload.abort().await);
                    Err(error)
                }
            }
        };
        let done = self.runtime.block_on(put);
        let done = done.map_err(|error| self.store_error(error))?;
        Ok(done.e_tag.map(|tag| tag.trim_matches('"').to_owned()))
    }

    async fn put_parts(
        &self,
        upload: &mut dyn MultipartUpload,
        file: &mut Parts,
    ) -> object_store::Result<object_store::PutResult> {
        while file.left > 0 {
            self.settings.wait_for_turn().await;
            upload.put_part(file.next()?).await?;
        }
        upload.complete().await
    }

    /// The object at a path below the folder. `None` if there is none.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Store`] if the store does not answer.
    pub fn head(&self, below: &str) -> Result<Option<Head>> {
        let path = self.path(below)?;
        let head = self.fetch_head(&path);
        let head = self.runtime.block_on(head);
        head.map_err(|error| self.store_error(error))
    }

    /// The objects at these paths, several requests at a time.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`head`](Self::head).
    pub fn heads(&self, below: &[String]) -> Result<Vec<Option<Head>>> {
        let paths = below.iter().map(|below| self.path(below));
        let paths = paths.collect::<Result<Vec<Path>>>()?;
        let heads = stream::iter(&paths).map(|path| self.fetch_head(path));
        let heads = heads.buffered(HEADS).collect::<Vec<_>>();
        let heads = self.runtime.block_on(heads).into_iter();
        heads
            .map(|head| head.map_err(|error| self.store_error(error)))
            .collect()
    }

    async fn fetch_head(&self, path: &Path) -> object_store::Result<Option<Head>> {
        self.settings.wait_for_turn().await;
        let options = GetOptions::default().with_head(true);
        let result = match self.store.get_opts(path, options).await {
            Ok(result) => result,
            Err(object_store::Error::NotFound { .. }) => return Ok(None),
            Err(error) => return Err(error),
        };
        let metadata = result
            .attributes
            .iter()
            .filter_map(|(name, value)| match name {
                Attribute::Metadata(name) => Some((name.to_string(), value.to_string())),
                _ => None,
            });
        Ok(Some(Head {
            bytes: result.meta.size,
            version: identity(&result.meta),
            metadata: metadata.collect(),
        }))
    }

    /// Removes the object at a path below the folder, if there is one.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Store`] if the store does not remove it.
    pub fn remove(&self, below: &str) -> Result<()> {
        let path = self.path(below)?;
        let removed = async {
            self.settings.wait_for_turn().await;
            self.store.delete(&path).await
        };
        match self.runtime.block_on(removed) {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(self.store_error(error)),
        }
    }

    /// The objects of the folder whose keys are greater than `after`; see [`List`](crate::List).
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Blocking::list`].
    pub fn list(&self, after: &str) -> Result<BlockingList> {
        Blocking::list(self.address.clone(), after, &self.settings)
    }

    fn store_error(&self, error: object_store::Error) -> Error {
        Error::Store {
            address: self.address.clone(),
            error: Box::new(brief(error, &self.address)),
        }
    }
}

impl std::fmt::Debug for Bucket {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Bucket")
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}

/// A file, a part after the other.
struct Parts {
    file: File,
    length: u64,
    left: u64,
}

impl Parts {
    fn open(path: &FilePath) -> object_store::Result<Self> {
        let file = File::open(path).map_err(file_error)?;
        let length = file.metadata().map_err(file_error)?.len();
        Ok(Self {
            file,
            length,
            left: length,
        })
    }

    fn next(&mut self) -> object_store::Result<PutPayload> {
        let part = LONGEST_PUT.max(self.length / MOST_PARTS).min(self.left);
        let mut bytes = Vec::new();
        let read = self.file.by_ref().take(part).read_to_end(&mut bytes);
        let read = read.map_err(file_error)? as u64;
        if read < part {
            return Err(file_error(std::io::ErrorKind::UnexpectedEof.into()));
        }
        self.left -= part;
        Ok(bytes.into())
    }
}

fn file_error(error: std::io::Error) -> object_store::Error {
    object_store::Error::Generic {
        store: "file",
        source: Box::new(error),
    }
}
