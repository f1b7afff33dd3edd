"""Tools as people write them: what they are called, what they take, and how users ask for what they do.

``{slot}`` in a way of asking is a parameter; one without some optional parameter leaves it out. A few tools are never
in the training, so that the evaluation has some that are as natural and yet unseen.
"""

from __future__ import annotations

from typing import NamedTuple

from demo_model.conversation import Kind
from demo_model.drawing import Draw
from demo_model.tasks import values
from demo_model.tasks.values import Maker, Value
from demo_model.words import any_word, word_of


class Slot(NamedTuple):
    """A parameter: its names, its kind, what it says of itself, and its values."""

    names: str
    make: Maker
    about: str = ""
    kind: Kind = "string"
    options: tuple[str, ...] = ()
    required: bool = True


class Written(NamedTuple):
    """A tool: its names, descriptions, parameters by slot, ways to ask, and what it answers with."""

    names: str
    about: str
    slots: dict[str, Slot]
    asks: tuple[str, ...]
    result: str
    held: bool = False


def _one_of(*options: str) -> tuple[Maker, tuple[str, ...]]:
    return (lambda draw: values.same(draw.pick(options))), options


def _enum(names: str, *options: str, about: str = "", required: bool = True) -> Slot:
    make, listed_options = _one_of(*options)
    return Slot(names, make, about, "string", listed_options, required)


def _count(names: str, least: int, most: int, about: str = "", required: bool = True) -> Slot:
    return Slot(names, lambda draw: values.whole(draw, least, most), about, "integer", (), required)


def _from(name: str) -> Maker:
    return lambda draw: values.same(word_of(draw, name))


def _topic(draw: Draw) -> Value:
    return values.same(
        f"{word_of(draw, 'adjectives')} {word_of(draw, 'nouns')}" if draw.chance(0.5) else any_word(draw)
    )


def _money(draw: Draw) -> Value:
    return values.decimal(draw)


def _sum(draw: Draw) -> Value:
    sign = draw.pick(("+", "-", "*", "/"))
    gap = draw.pick(("", " "))
    return values.same(f"{draw.count(1, 9999)}{gap}{sign}{gap}{draw.count(1, 999)}")


CITY = Slot("city|location|place|city_name", values.place, "Name of the city|The city|Where|")
LANGUAGES = (
    "French",
    "German",
    "Spanish",
    "Italian",
    "Dutch",
    "Polish",
    "Japanese",
    "Chinese",
    "Russian",
    "Arabic",
)
CURRENCIES = ("USD", "EUR", "GBP", "JPY", "CHF", "CAD", "AUD", "SEK", "PLN", "INR")

WRITTEN: tuple[Written, ...] = (
    Written(
        "get_weather|weather|get_current_weather|current_weather|weather_lookup",
        "Get the weather of a city.|Get the current weather in a given location.|Current weather|Returns the weather",
        {
            "city": CITY,
            "unit": _enum(
                "unit|units", "celsius", "fahrenheit", about="Unit of the temperature", required=False
            ),
        },
        (
            "What is the weather in {city}?",
            "How is the weather in {city}?",
            "What's the weather like in {city}?",
            "Weather in {city}",
            "Is it raining in {city}?",
            "Tell me the weather in {city} in {unit}.",
            "How warm is it in {city}?",
            "What is the temperature in {city} in {unit}?",
        ),
        "temperature:number;condition:word",
    ),
    Written(
        "get_forecast|weather_forecast|forecast",
        "Get the weather forecast.|Forecast for the next days|Predict the weather of the next days.",
        {"city": CITY, "days": _count("days|num_days", 1, 14, "Number of days")},
        (
            "What will the weather be in {city} for the next {days} days?",
            "Give me the forecast for {city} for {days} days.",
            "{days} day forecast for {city}",
            "How will the weather be in {city} over {days} days?",
        ),
        "forecast:word",
    ),
    Written(
        "calculate|calculator|compute|evaluate_expression",
        "Evaluate a mathematical expression.|Do a calculation.|Calculator",
        {"expression": Slot("expression|formula|input", _sum, "The expression to evaluate|")},
        (
            "Calculate {expression}",
            "Use the calculator for {expression}",
            "Compute {expression} with the calculator.",
            "Evaluate {expression}",
            "Please calculate {expression}.",
        ),
        "result:number",
    ),
    Written(
        "search_web|web_search|search|internet_search",
        "Search the web.|Search the internet for information.|Find pages on the web",
        {
            "query": Slot("query|q|search_term", _topic, "What to search for|The query|"),
            "limit": _count("limit|max_results", 1, 20, "Most results", required=False),
        },
        (
            "Search the web for {query}.",
            "Search for {query}",
            "Look up {query} on the internet.",
            "Find {limit} pages about {query}.",
            "Google {query}",
            "Search the internet for {query}.",
        ),
        "title:text",
    ),
    Written(
        "send_email|email|write_email|mail",
        "Send an email.|Send a mail to somebody.|Email somebody",
        {
            "to": Slot("to|recipient|address", values.email, "Address of the recipient|"),
            "subject": Slot("subject|title", values.text, "Subject line"),
            "body": Slot("body|text|content", values.text, "Text of the mail", required=False),
        },
        (
            'Send an email to {to} with the subject "{subject}".',
            'Email {to} with subject "{subject}" and body "{body}".',
            'Write a mail to {to}, subject "{subject}", text "{body}".',
            'Mail {to}: subject "{subject}"',
        ),
        "status:word",
    ),
    Written(
        "send_message|message|text_person|send_sms",
        "Send a message to a person.|Text somebody.|Send a short message",
        {
            "to": Slot("to|recipient|person|contact", values.name, "Who gets it|"),
            "text": Slot("text|message|body|content", values.text, "The message"),
        },
        (
            'Tell {to} "{text}".',
            'Send {to} the message "{text}".',
            'Text {to}: "{text}"',
            'Send a message to {to} saying "{text}".',
            "Message {to}: {text}",
        ),
        "status:word",
    ),
    Written(
        "create_event|add_event|new_calendar_event|schedule_event",
        "Create a calendar event.|Add an event to the calendar.|Put something into the calendar",
        {
            "title": Slot("title|name|summary", values.text, "What it is"),
            "date": Slot("date|day", values.date, "Day of the event|"),
            "time": Slot("time|start|start_time", values.time, "When it begins", required=False),
        },
        (
            'Add "{title}" to my calendar on {date}.',
            'Create an event "{title}" on {date} at {time}.',
            'Put "{title}" into the calendar for {date} at {time}.',
            'Schedule "{title}" on {date} at {time}.',
        ),
        "id:number",
    ),
    Written(
        "set_reminder|remind_me|create_reminder|reminder",
        "Set a reminder.|Remind the user of something.|Create a reminder",
        {
            "text": Slot("text|message|what|note", values.text, "What to remind of"),
            "time": Slot("time|at|when", values.time, "When"),
        },
        (
            'Remind me at {time}: "{text}"',
            'Set a reminder for {time}: "{text}".',
            'Remind me to "{text}" at {time}.',
            "At {time} remind me: {text}",
        ),
        "status:word",
    ),
    Written(
        "set_timer|start_timer|timer",
        "Start a timer.|Set a timer for some minutes.|Countdown",
        {
            "minutes": _count("minutes|duration|duration_minutes", 1, 120, "How long, in minutes"),
            "label": Slot("label|name", values.word, "Name of the timer", required=False),
        },
        (
            "Set a timer for {minutes} minutes.",
            "Start a timer of {minutes} minutes.",
            "Timer {minutes} minutes",
            "Set a {label} timer for {minutes} minutes.",
            "Wake me in {minutes} minutes.",
        ),
        "ends:time",
    ),
    Written(
        "set_alarm|alarm|create_alarm",
        "Set an alarm.|Wake the user up.|Alarm clock",
        {"time": Slot("time|at|alarm_time", values.time, "When to ring")},
        (
            "Set an alarm for {time}.",
            "Wake me up at {time}.",
            "Alarm at {time}",
            "Please set my alarm to {time}.",
        ),
        "status:word",
    ),
    Written(
        "convert_currency|currency_converter|exchange|convert_money",
        "Convert money from one currency to another.|Currency conversion|Exchange money",
        {
            "amount": Slot("amount|value", _money, "How much", "number"),
            "source": _enum("from|source|from_currency", *CURRENCIES),
            "target": _enum("to|target|to_currency", *CURRENCIES),
        },
        (
            "Convert {amount} {source} to {target}.",
            "How much is {amount} {source} in {target}?",
            "Change {amount} {source} into {target}.",
            "What are {amount} {source} in {target}?",
        ),
        "amount:number",
    ),
    Written(
        "get_stock_price|stock_price|stock|quote",
        "Get the price of a stock.|Look up a share price.|Current price of a stock",
        {
            "symbol": Slot(
                "symbol|ticker|stock",
                lambda draw: values.same(
                    "".join(draw.pick("ABCDEFGHIJKLMNOPQRSTUVWXYZ") for _ in range(draw.count(3, 4)))
                ),
                "Ticker symbol",
            )
        },
        (
            "What is the price of {symbol} stock?",
            "Stock price of {symbol}",
            "How much is a share of {symbol}?",
            "Get me the stock price of {symbol}.",
        ),
        "price:number",
    ),
    Written(
        "play_music|play_song|play|music_player",
        "Play music.|Play a song.|Start the music",
        {
            "song": Slot("song|title|track|query", values.text, "Name of the song"),
            "artist": Slot("artist|by|singer", values.name, "Who plays it", required=False),
        },
        (
            'Play "{song}".',
            'Play the song "{song}" by {artist}.',
            'I want to hear "{song}" by {artist}.',
            'Put on "{song}"',
        ),
        "status:word",
    ),
    Written(
        "set_volume|change_volume|volume",
        "Set the volume.|Change how loud it is.|Volume of the speakers",
        {"level": _count("level|volume|percent", 0, 100, "0 to 100")},
        (
            "Set the volume to {level}.",
            "Volume {level}",
            "Turn the volume to {level} percent.",
            "Make it {level} percent loud.",
        ),
        "volume:number",
    ),
    Written(
        "control_light|set_light|switch_light|light",
        "Switch a light.|Turn the light in a room on or off.|Control the lights",
        {
            "room": _enum(
                "room|where", "kitchen", "bedroom", "bathroom", "office", "garage", "hall", "garden"
            ),
            "state": _enum("state|status|power", "on", "off"),
        },
        (
            "Turn {state} the light in the {room}.",
            "Turn the {room} light {state}.",
            "Switch the light in the {room} {state}.",
            "Light {state} in the {room}, please.",
        ),
        "status:word",
    ),
    Written(
        "set_brightness|dim_light|brightness",
        "Set the brightness of a lamp.|Dim a lamp.|How bright a lamp is",
        {
            "lamp": Slot("lamp|device|name", values.word, "Which lamp"),
            "percent": _count("percent|brightness|level", 0, 100, "Brightness in percent"),
        },
        (
            "Set the {lamp} lamp to {percent} percent.",
            "Dim the {lamp} lamp to {percent}.",
            "Brightness of the {lamp} lamp: {percent}",
        ),
        "status:word",
    ),
    Written(
        "set_temperature|set_thermostat|thermostat|heating",
        "Set the temperature of a room.|Control the heating.|Thermostat",
        {
            "degrees": _count("degrees|temperature|value", 5, 30, "Degrees Celsius"),
            "room": Slot("room|where|zone", _from("nouns"), "Which room", required=False),
        },
        (
            "Set the temperature to {degrees} degrees.",
            "Heat the {room} to {degrees} degrees.",
            "Set the thermostat to {degrees}.",
            "Make it {degrees} degrees in the {room}.",
        ),
        "status:word",
        held=True,
    ),
    Written(
        "translate|translate_text|translation",
        "Translate a text.|Translate text into another language.|Translation",
        {
            "text": Slot("text|input|sentence", values.text, "Text to translate"),
            "language": _enum("language|target|target_language|to", *LANGUAGES),
        },
        (
            'Translate "{text}" to {language}.',
            'Translate "{text}" into {language}.',
            'What is "{text}" in {language}?',
            'Say "{text}" in {language}.',
            'How do you say "{text}" in {language}?',
        ),
        "translation:text",
    ),
    Written(
        "get_time|current_time|time_in|clock",
        "Get the current time.|What time it is in a city|Current time of a place",
        {"city": CITY},
        (
            "What time is it in {city}?",
            "Current time in {city}",
            "How late is it in {city}?",
            "Tell me the time in {city}.",
        ),
        "time:time",
        held=True,
    ),
    Written(
        "get_date|today|current_date",
        "Get today's date.|Which day it is|Current date",
        {},
        ("What day is it today?", "What is today's date?", "Which date is it?", "Tell me the date."),
        "date:date",
    ),
    Written(
        "find_restaurant|search_restaurants|restaurants|restaurant_finder",
        "Find restaurants.|Search for a restaurant in a city.|Places to eat",
        {
            "city": CITY,
            "cuisine": Slot(
                "cuisine|kind|food",
                lambda draw: values.same(
                    draw.pick(
                        ("Italian", "Chinese", "Indian", "French", "Greek", "Mexican", "Thai", "Turkish")
                    )
                ),
                "Kind of food",
                required=False,
            ),
        },
        (
            "Find a restaurant in {city}.",
            "Find an {cuisine} restaurant in {city}.",
            "Where can I eat {cuisine} food in {city}?",
            "Restaurants in {city}",
        ),
        "name:text;rating:number",
    ),
    Written(
        "book_table|reserve_table|table_reservation",
        "Book a table in a restaurant.|Reserve a table.|Table reservation",
        {
            "restaurant": Slot("restaurant|name|where", values.text, "Name of the restaurant"),
            "guests": _count("guests|people|party_size", 1, 12, "How many people"),
            "time": Slot("time|when|at", values.time, "When", required=False),
        },
        (
            'Book a table at "{restaurant}" for {guests} people.',
            'Reserve a table for {guests} at "{restaurant}" at {time}.',
            'I need a table for {guests} people at "{restaurant}".',
        ),
        "confirmation:id",
        held=True,
    ),
    Written(
        "search_flights|find_flight|flights|flight_search",
        "Search flights.|Find a flight between two cities.|Flights",
        {
            "origin": Slot("origin|from|from_city|departure", values.place, "Where it starts"),
            "destination": Slot("destination|to|to_city|arrival", values.place, "Where it goes"),
            "date": Slot("date|day|when", values.date, "When", required=False),
        },
        (
            "Find a flight from {origin} to {destination}.",
            "Flights from {origin} to {destination} on {date}",
            "I want to fly from {origin} to {destination} on {date}.",
            "Search flights to {destination} from {origin}.",
        ),
        "flight:id;price:number",
    ),
    Written(
        "book_hotel|reserve_hotel|hotel_booking",
        "Book a hotel.|Reserve a room in a hotel.|Hotel reservation",
        {
            "city": CITY,
            "nights": _count("nights|num_nights|stay", 1, 21, "How many nights"),
            "date": Slot("date|check_in|arrival", values.date, "First day", required=False),
        },
        (
            "Book a hotel in {city} for {nights} nights.",
            "I need a hotel in {city} for {nights} nights from {date}.",
            "Reserve a room in {city}, {nights} nights.",
        ),
        "confirmation:id",
    ),
    Written(
        "get_directions|directions|navigate|route",
        "Get directions.|Find the way from one place to another.|Navigation",
        {
            "start": Slot("start|from|origin", values.place, "Start"),
            "goal": Slot("goal|to|destination|end", values.place, "Goal"),
            "mode": _enum(
                "mode|by|travel_mode", "car", "train", "bike", "foot", about="How to travel", required=False
            ),
        },
        (
            "How do I get from {start} to {goal}?",
            "Directions from {start} to {goal} by {mode}",
            "Navigate from {start} to {goal}.",
            "Show me the way from {start} to {goal} by {mode}.",
        ),
        "distance:number",
    ),
    Written(
        "get_news|news|headlines|latest_news",
        "Get the latest news.|News about a topic|Headlines",
        {"topic": Slot("topic|category|about", _topic, "What about")},
        (
            "What is the news about {topic}?",
            "News about {topic}",
            "Get me the latest news on {topic}.",
            "Any headlines about {topic}?",
        ),
        "headline:text",
    ),
    Written(
        "define_word|dictionary|define|lookup_word",
        "Look a word up in the dictionary.|Define a word.|Meaning of a word",
        {"word": Slot("word|term|entry", values.word, "The word")},
        (
            "Define {word}.",
            'What does "{word}" mean?',
            "Look up the word {word} in the dictionary.",
            "Meaning of {word}",
        ),
        "definition:text",
    ),
    Written(
        "read_file|open_file|cat|get_file",
        "Read a file.|Return the content of a file.|Open a file",
        {"path": Slot("path|file|filename|file_path", values.path, "Path of the file")},
        (
            "Read the file {path}.",
            "Show me {path}",
            "What is in {path}?",
            "Open {path}",
            "Print the content of {path}.",
        ),
        "content:text",
    ),
    Written(
        "write_file|save_file|create_file",
        "Write a file.|Save text to a file.|Create a file with some content",
        {
            "path": Slot("path|file|filename|file_path", values.path, "Path of the file"),
            "content": Slot("content|text|data", values.text, "What to write"),
        },
        (
            'Write "{content}" to {path}.',
            'Save "{content}" in {path}.',
            'Create the file {path} with the content "{content}".',
            'Put "{content}" into {path}',
        ),
        "bytes:number",
    ),
    Written(
        "list_files|ls|list_directory|dir",
        "List the files of a folder.|Show what is in a folder.|Directory listing",
        {
            "folder": Slot(
                "folder|path|directory",
                lambda draw: values.same("/" + "/".join(any_word(draw) for _ in range(draw.count(1, 3)))),
                "The folder",
            )
        },
        (
            "List the files in {folder}.",
            "What files are in {folder}?",
            "ls {folder}",
            "Show the folder {folder}.",
        ),
        "files:number",
    ),
    Written(
        "delete_file|remove_file|rm",
        "Delete a file.|Remove a file for good.|Erase a file",
        {"path": Slot("path|file|filename|file_path", values.path, "Path of the file")},
        ("Delete the file {path}.", "Remove {path}", "Please delete {path}.", "Erase {path}"),
        "status:word",
    ),
    Written(
        "run_command|shell|bash|execute|terminal",
        "Run a shell command.|Execute a command.|Terminal",
        {
            "command": Slot(
                "command|cmd|line",
                lambda draw: values.same(
                    draw.pick(
                        (
                            "ls -l",
                            "ls -la {}",
                            "cat {}",
                            "pwd",
                            "git status",
                            "git log",
                            "df -h",
                            "whoami",
                            "date",
                            "mkdir {}",
                            "rm {}",
                            "touch {}",
                            "echo {}",
                            "python {}.py",
                            "grep {} {}",
                            "uname -a",
                            "ps aux",
                            "make {}",
                            "cd {}",
                        )
                    ).replace("{}", any_word(draw))
                ),
                "The command",
            )
        },
        (
            "Run {command}",
            "Execute {command}",
            "Run the command {command}",
            "In the shell: {command}",
            "Please run `{command}`.",
        ),
        "output:text",
    ),
    Written(
        "query_database|run_sql|sql|query",
        "Run a query on the database.|Execute SQL.|Ask the database",
        {
            "sql": Slot(
                "sql|query|statement",
                lambda draw: values.same(
                    f"SELECT {draw.pick(('*', 'count(*)', any_word(draw)))} FROM {any_word(draw)}"
                ),
                "The statement",
            )
        },
        ("Run the query {sql}", "Execute {sql} on the database", "SQL: {sql}", 'Run "{sql}".'),
        "rows:number",
    ),
    Written(
        "add_note|create_note|note|save_note",
        "Save a note.|Write something down.|Take a note",
        {"text": Slot("text|content|note", values.text, "The note")},
        ('Note: "{text}"', 'Take a note: "{text}".', 'Write down "{text}".', "Make a note: {text}"),
        "id:number",
    ),
    Written(
        "add_todo|create_task|add_task|new_task",
        "Add a task to the list.|Create a to-do.|New task",
        {
            "title": Slot("title|task|name", values.text, "What to do"),
            "priority": _enum(
                "priority|importance", "low", "medium", "high", about="How urgent", required=False
            ),
        },
        (
            'Add "{title}" to my tasks.',
            'New task "{title}" with {priority} priority.',
            'Create a task "{title}", priority {priority}.',
            'Put "{title}" on my to-do list.',
        ),
        "id:number",
    ),
    Written(
        "shopping_list|add_to_shopping_list|add_item",
        "Add something to the shopping list.|Put an item on the shopping list.|Shopping list",
        {
            "item": Slot("item|product|name", _from("foods"), "What to buy"),
            "quantity": _count("quantity|count|amount", 1, 20, "How many", required=False),
        },
        (
            "Add {item} to the shopping list.",
            "Put {quantity} {item} on the shopping list.",
            "I need to buy {item}.",
            "Shopping list: {quantity} {item}",
        ),
        "status:word",
    ),
    Written(
        "convert_unit|unit_converter|convert_units",
        "Convert a measure to another unit.|Unit conversion|Convert units",
        {
            "value": Slot("value|amount|number", _money, "The number", "number"),
            "source": _enum(
                "from|from_unit|source", "km", "miles", "kg", "pounds", "litres", "gallons", "cm", "inches"
            ),
            "target": _enum(
                "to|to_unit|target", "km", "miles", "kg", "pounds", "litres", "gallons", "cm", "inches"
            ),
        },
        (
            "Convert {value} {source} to {target}.",
            "How many {target} are {value} {source}?",
            "{value} {source} in {target}",
            "What is {value} {source} in {target}?",
        ),
        "value:number",
    ),
    Written(
        "random_number|roll_dice|get_random|dice",
        "Return a random number.|Draw a random number.|Random numbers",
        {
            "low": _count("min|low|from", 0, 50, "Smallest"),
            "high": _count("max|high|to", 51, 1000, "Largest"),
        },
        (
            "Give me a random number between {low} and {high}.",
            "Random number from {low} to {high}",
            "Draw a number between {low} and {high}.",
        ),
        "number:number",
    ),
    Written(
        "create_user|add_user|register_user|new_user",
        "Create a user.|Register a new user.|Add somebody to the system",
        {
            "name": Slot("name|username|user", values.name, "Name of the user"),
            "email": Slot("email|mail|address", values.email, "Address", required=False),
            "role": _enum("role|group", "admin", "editor", "viewer", required=False),
        },
        (
            "Create a user {name}.",
            "Add the user {name} with the email {email}.",
            "Register {name} as {role}.",
            "New user {name}, email {email}, role {role}",
        ),
        "id:number",
    ),
    Written(
        "track_parcel|track_package|parcel_status",
        "Track a parcel.|Where a parcel is|Status of a package",
        {"code": Slot("code|tracking_number|parcel_id", values.identifier, "Number of the parcel")},
        (
            "Where is my parcel {code}?",
            "Track the parcel {code}.",
            "Status of package {code}",
            "Has package {code} arrived?",
        ),
        "status:word;place:word",
        held=True,
    ),
    Written(
        "find_recipe|get_recipe|recipe|recipes",
        "Find a recipe.|How to cook something|Recipes",
        {
            "dish": Slot("dish|food|name", _from("foods"), "What to cook"),
            "servings": _count("servings|people|portions", 1, 10, "For how many", required=False),
        },
        (
            "Find a recipe for {dish}.",
            "How do I cook {dish} for {servings} people?",
            "Recipe for {dish}",
            "I want to cook {dish}.",
        ),
        "minutes:number",
        held=True,
    ),
    Written(
        "call_person|phone_call|make_call|dial",
        "Call somebody.|Make a phone call.|Phone",
        {"person": Slot("person|contact|who|name", values.name, "Who")},
        ("Call {person}.", "Phone {person}", "Ring {person}, please.", "Make a call to {person}."),
        "status:word",
    ),
    Written(
        "get_population|population|city_population",
        "Get the population of a place.|How many people live somewhere|Population",
        {"place": Slot("place|city|country|where", values.place, "Which place")},
        ("What is the population of {place}?", "How many people live in {place}?", "Population of {place}"),
        "population:number",
    ),
    Written(
        "order_food|order_meal|food_order",
        "Order food.|Order a meal for delivery.|Food delivery",
        {
            "dish": Slot("dish|item|meal", _from("foods"), "What"),
            "quantity": _count("quantity|count|portions", 1, 10, "How many"),
        },
        (
            "Order {quantity} {dish}.",
            "I would like {quantity} {dish}, please.",
            "Get me {quantity} portions of {dish}.",
        ),
        "minutes:number",
    ),
    Written(
        "lock_door|door_lock|set_lock",
        "Lock or unlock a door.|Control a door.|Door",
        {
            "door": Slot(
                "door|name|which",
                lambda draw: values.same(
                    draw.pick(("front", "back", "garage", "cellar", "garden", word_of(draw, "adjectives")))
                ),
                "Which door",
            ),
            "action": _enum("action|state", "lock", "unlock"),
        },
        ("Please {action} the {door} door.", "{action} the {door} door", "Can you {action} the {door} door?"),
        "status:word",
    ),
    Written(
        "create_invoice|make_invoice|invoice|bill_customer",
        "Create an invoice.|Bill a customer.|Write an invoice",
        {
            "customer": Slot("customer|client|name", values.name, "Who pays"),
            "amount": Slot("amount|total|sum", _money, "How much", "number"),
            "currency": _enum("currency", *CURRENCIES[:4], required=False),
        },
        (
            "Create an invoice for {customer} over {amount}.",
            "Bill {customer} {amount} {currency}.",
            "Invoice {customer} for {amount} {currency}.",
        ),
        "invoice:id",
    ),
    Written(
        "get_order|order_status|find_order|lookup_order",
        "Look up an order.|Status of an order|Find an order by its number",
        {"order": Slot("order_id|id|order|number", values.identifier, "Number of the order")},
        (
            "What is the status of order {order}?",
            "Where is my order {order}?",
            "Look up order {order}.",
            "Order {order}",
        ),
        "status:word;total:number",
    ),
    Written(
        "fetch_page|open_url|browse|get_page",
        "Fetch a web page.|Open a page of the web.|Load a URL",
        {"url": Slot("url|link|page|address", values.link, "Address of the page")},
        ("Open {url}", "Fetch {url}", "What is on the page {url}?", "Load {url}, please."),
        "title:text",
    ),
)
"""The tools."""


def written(held: bool) -> tuple[Written, ...]:
    """Return those of the evaluation, or of the training."""
    return tuple(tool for tool in WRITTEN if tool.held == held)
