export { createGateway } from "./gateway.js";
