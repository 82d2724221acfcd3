//! Names the shared library as it is installed.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // Of versions 0.x, the second number tells what is compatible; all have been 0.1 so far. Threads of rayon's outlive
    // every call, so the library stays once it is loaded.
    // On Windows, src/pin.rs sees to that.
    match std::env::var("CARGO_CFG_TARGET_OS").as_deref() {
        Ok("linux") => {
            println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libmeshmap.so.0");
            println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
        }
        Ok("macos") => println!("cargo::rustc-cdylib-link-arg=-Wl,-install_name,@rpath/libmeshmap.0.dylib"),
        _ => {}
    }
}
