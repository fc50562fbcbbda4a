from .card import card_schema as card_schema
from .card import make_card as make_card
from .card_text import card_to_markdown as card_to_markdown
from .folder import write_folder as write_folder
from .html import render_page as render_page
from .html import write_page as write_page
from .verification import verify_folder as verify_folder
