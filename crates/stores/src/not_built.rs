//! What a build without the clients of stores has in their place: no store can be opened. The methods are those of `store.rs`.

use crate::error::StoreError;
use crate::object::{Object, When};
use safefs::Dir;
use std::convert::Infallible;
use std::fs::File;

/// A folder of a store. There is none in this build.
#[derive(Debug)]
pub struct Store(Infallible);

/// Which version of an object was read, to replace only this one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Version(Infallible);

impl Store {
    /// Fails: this build has no clients of stores.
    ///
    /// # Errors
    /// Always [`StoreError::NotBuilt`].
    pub fn open(url: &str) -> Result<Self, StoreError> {
        Err(StoreError::NotBuilt(url.to_owned()))
    }

    /// The URL, without `/` at the end.
    #[must_use]
    pub fn url(&self) -> &str {
        match self.0 {}
    }

    /// The URL of an object.
    #[must_use]
    pub fn url_of(&self, _: &str) -> String {
        match self.0 {}
    }

    /// Lists all objects in a folder below the URL.
    ///
    /// # Errors
    /// There is no store in this build.
    pub fn list(&self, _: &str, _: &mut dyn FnMut(Object)) -> Result<(), StoreError> {
        match self.0 {}
    }

    /// Finds one object.
    ///
    /// # Errors
    /// There is no store in this build.
    pub fn find(&self, _: &str) -> Result<Object, StoreError> {
        match self.0 {}
    }

    /// Reads an object, and its version.
    ///
    /// # Errors
    /// There is no store in this build.
    pub fn read(&self, _: &str) -> Result<Option<(Vec<u8>, Version)>, StoreError> {
        match self.0 {}
    }

    /// Reads the first bytes of an object.
    ///
    /// # Errors
    /// There is no store in this build.
    pub fn head(&self, _: &Object, _: u64) -> Result<Vec<u8>, StoreError> {
        match self.0 {}
    }

    /// Fetches objects into a folder.
    ///
    /// # Errors
    /// There is no store in this build.
    pub fn fetch(&self, _: &[Object], _: &str, _: &Dir) -> Result<(), StoreError> {
        match self.0 {}
    }

    /// Writes an object. Returns its version.
    ///
    /// # Errors
    /// There is no store in this build.
    pub fn put(&self, _: &str, _: Vec<u8>, _: When) -> Result<Version, StoreError> {
        match self.0 {}
    }

    /// Writes an object with the content of a file.
    ///
    /// # Errors
    /// There is no store in this build.
    pub fn put_file(&self, _: &str, _: File) -> Result<(), StoreError> {
        match self.0 {}
    }

    /// Removes objects.
    ///
    /// # Errors
    /// There is no store in this build.
    pub fn remove(&self, _: &[String]) -> Result<(), StoreError> {
        match self.0 {}
    }
}
