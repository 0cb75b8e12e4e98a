export { SERVER_USER, unprivileged, WITHOUT_RIGHTS } from "./pod-security.js";
export { quoteShell } from "./quote-shell.js";
export { renderTarget } from "./render.js";
export { hasPassword, isSecretName } from "./secret-name.js";
export { countSilentChecks, IMAGE_STOP_VARIABLES, stopSeconds } from "./server-times.js";
export { BALANCERS, type DeployTarget, isBalancer, pipedFiles, type RenderedFiles, TARGETS } from "./targets.js";
export { parseTopology, type Topology } from "./topology.js";
export { parseYaml } from "./yaml.js";
