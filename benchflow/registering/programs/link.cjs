// Links the program of an npm package as `npx` chooses it: the one that is named, the only one, or the package's own.
const fs = require("fs"), path = require("path");
const [name, wanted] = process.argv.slice(2);
const plain = name.split("/").pop();
const own = JSON.parse(fs.readFileSync(path.resolve("node_modules", name, "package.json"), "utf8"));
const programs = typeof own.bin === "string" ? [plain] : Object.keys(own.bin || {});
const chosen = wanted || (programs.length === 1 ? programs[0] : plain);
if (!programs.includes(chosen)) {
  console.error(`${name} has the programs ${programs.join(", ") || "none"}, and not ${chosen}`);
  process.exit(1);
}
fs.mkdirSync("bin", {recursive: true});
fs.rmSync("bin/agent", {force: true});
fs.symlinkSync(path.resolve("node_modules/.bin", chosen), "bin/agent");
