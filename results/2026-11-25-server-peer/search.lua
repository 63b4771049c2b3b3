-- Searches by wrk: SERVER=ken|peer QUESTIONS=FILE wrk -t1 -c64 -d20s --latency -s search.lua URL
local questions = {}
for line in io.lines(os.getenv("QUESTIONS")) do
  local text = line:match('"question": "(.-)", "golden')
  if text and not text:find("\\") then questions[#questions + 1] = text end
end
local ken = os.getenv("SERVER") == "ken"
local path = ken and "/v1/ken/search" or "/search"
local n = 0
function request()
  n = n % #questions + 1
  local body = ken and '{"query": "' .. questions[n] .. '", "k": 3}' or '{"question": "' .. questions[n] .. '", "k": 3}'
  return wrk.format("POST", path, { ["content-type"] = "application/json" }, body)
end
