export { tools as default } from "../environments/tools.js";
