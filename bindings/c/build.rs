//! How the shared library is linked.

fn main() {
    let arguments = [
        "-soname,libwellspring.so.0",
        // Threads that end after dlclose(3) call the destructors of their data, which must still be there.
        "-z,nodelete",
        // Every symbol is found when the library is loaded, so that no first call takes the loader's lock.
        "-z,now",
        "-z,relro",
    ];
    for argument in arguments {
        println!("cargo::rustc-cdylib-link-arg=-Wl,{argument}");
    }
    println!("cargo::rerun-if-changed=build.rs");
}
