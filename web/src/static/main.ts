// The page without a server. The engine has to be there before the page asks its first question.
import './engine'
import '../main'
