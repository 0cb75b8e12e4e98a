/** The version of this package. Not read from its package.json, which a server that is bundled into one file does not have. */
export const PACKAGE_VERSION = "0.1.0";
