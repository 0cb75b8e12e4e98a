export { describePython, isPythonFolder } from "./python.js";
export { findManifest, readManifest } from "./read-manifest.js";
export { MANIFEST_FILE, type Manifest } from "./schema.js";
